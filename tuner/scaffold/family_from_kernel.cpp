#include "scaffold/family_from_kernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/text.h"
#include "family/operator.h"
#include "json/json.h"
#include "scaffold/device_part.h"
#include "scaffold/dynamic_shared.h"
#include "scaffold/family_draft.h"
#include "scaffold/family_text.h"
#include "scaffold/first_space.h"
#include "scaffold/kernel_names.h"
#include "scaffold/kernel_signature.h"
#include "scaffold/size_macros.h"

namespace mgtune {
namespace {

using Words = std::vector<std::string>;

std::string joined(const Words& words) { return fmt::format("{}", fmt::join(words, ", ")); }

class FamilyWriter {
 public:
  FamilyWriter(const CudaSource& source, const KernelPlace& place, KernelSignature signature)
      : source_(source), place_(place) {
    draft_.signature = std::move(signature);
  }

  Result<NewFamily> write() {
    family_.operator_name = draft_.signature.name;
    MGTUNE_TRY(add_numbers());
    add_template_parameters();
    add_open_names();
    add_dim_if_none();
    lay_out_blocks();
    MGTUNE_TRY(add_tensors());
    note_decisions();
    note_shared_memory();
    std::string stem = std::filesystem::path(source_.file).stem().string();
    if (stem == "reference") stem = "kernel";
    draft_.source_name = stem + ".cu";
    const DevicePart device = device_part(source_, replaced_defines_);
    if (!device.removed.empty()) {
      family_.guesses.push_back("left out, because it is for the host: " + joined(device.removed));
    }
    family_.files = {
        {draft_.signature.name + ".json", operator_text(draft_),
         "the operator: its dims, tensors, check, problems and space"},
        {draft_.source_name, device.text, "a copy of the kernel"},
        {"reference.cu", reference_text(draft_), "a skeleton: it gives NaN until you write it"}};
    family_.to_decide.insert(
        family_.to_decide.begin(),
        fmt::format("reference.cu: write the formula of {} in double precision. Until then every "
                    "variant is called wrong",
                    draft_.signature.name));
    return std::move(family_);
  }

 private:
  void guess(const std::string& text) { family_.guesses.push_back(text); }
  void decide(const std::string& text) { family_.to_decide.push_back(text); }

  // Integers become dims, other numbers scalars.
  Status add_numbers() {
    for (const KernelParameter& parameter : draft_.signature.parameters) {
      if (parameter.pointer) continue;
      if (!parameter.type_variable.empty()) {
        return unsupported(fmt::format(
            "{}: the parameter '{}' of {} is a number of the template's type {}. A scalar of an "
            "operator "
            "file has one dtype; make it a float or a double",
            source_.place(parameter.line), parameter.name, draft_.signature.name, parameter.type));
      }
      const bool size = !is_floating(parameter.dtype) && size_in_bytes(parameter.dtype) >= 4;
      if (size) {
        draft_.dims.push_back(parameter.name);
        guess(fmt::format("{} ({}): a dim, passed with every launch", parameter.name,
                          parameter.type));
      } else {
        draft_.scalars[parameter.name] =
            Json({{"dtype", to_string(parameter.dtype)}, {"check", 1}});
        guess(fmt::format("{} ({}): a scalar; checks pass 1", parameter.name, parameter.type));
      }
    }
    return {};
  }

  void add_template_parameters() {
    for (const TemplateParameter& parameter : draft_.signature.template_parameters) {
      draft_.template_arguments.push_back(parameter.name);
      if (parameter.kind == TemplateParameter::Kind::type) {
        draft_.dtypes[parameter.name] = Json::Array{"f32"};
        draft_.type_variables.push_back(parameter.name);
        guess(
            fmt::format("template parameter {}: a dtype, f32; add others, such as bf16, to dtypes",
                        parameter.name));
      } else if (parameter.kind == TemplateParameter::Kind::boolean) {
        draft_.params.push_back(
            {parameter.name, Json::Array{false, true}, parameter.fallback == "true"});
        guess(fmt::format("template parameter {}: a tunable", parameter.name));
      } else {
        add_tunable(parameter.name, whole_number(parameter.fallback), "template parameter ");
      }
    }
  }

  int axes() const {
    for (const char axis : {'z', 'y'}) {
      const AxisUse use = find_axis_use(source_, place_, axis, {});
      if (use.threads || use.blocks) return axis == 'z' ? 3 : 2;
    }
    return 1;
  }

  void add_tunable(const std::string& name, std::optional<std::int64_t> known, const char* what) {
    FirstValues first = first_values(name, axes(), known);
    const std::vector<std::int64_t> compared = compared_values(source_, name);
    const bool is_switch = first.values.front() == 0 || !sounds_tunable(name);
    if (is_switch && !compared.empty()) {
      std::set<std::int64_t> values(compared.begin(), compared.end());
      values.insert(first.first);
      if (first.values.front() == 0) values.insert(first.values.begin(), first.values.end());
      if (!known) first.first = *values.begin();
      first.values.assign(values.begin(), values.end());
    }
    draft_.params.push_back({name, Json(first.values), first.first, first.values.back()});
    guess(fmt::format("{}{}: a tunable with the values {}; the default is {}{}", what, name,
                      fmt::join(first.values, ", "), first.first,
                      known ? " as in the source" : ""));
  }

  void add_open_names() {
    const bool has_headers =
        std::ranges::any_of(source_.directives, [](const CudaDirective& directive) {
          return directive.name == "include" && directive.rest.starts_with('"');
        });
    open_names_ = find_open_names(source_, place_, draft_.signature);
    std::set<std::string> constant_sizes;  // tensors need them, wherever they are defined
    for (const ConstantArray& constant : find_constant_arrays(source_)) {
      for (const std::string& extent : constant.extents) {
        const CudaSource content = read_cuda_source("", extent);
        for (const CudaToken& token : content.tokens) constant_sizes.insert(token.text);
      }
    }
    for (const OpenName& name : open_names_) {
      const std::string at = fmt::format("macro (line {}) ", name.line);
      if (name.origin == OpenName::Origin::fixed) {
        if (sounds_tunable(name.name)) {
          guess(fmt::format(
              "{}{}: fixed to {} by its #define. To tune it, put #ifndef and #endif around "
              "the #define and add it to params and defines",
              at, name.name, name.value.value_or(0)));
        } else if (draft_.dims.empty()) {  // for a kernel that gets no sizes
          draft_.static_dims.push_back(name.name);
          draft_.static_values[name.name] = name.value;
          draft_.defines[name.name] = Json(name.name);
          replaced_defines_.insert(name.name);
          guess(
              fmt::format("{}{}: a static dim. Its #define is left out of the copy, because "
                          "mgtune compiles it in as a macro",
                          at, name.name));
        }
        continue;
      }
      if (name.origin == OpenName::Origin::undefined && has_headers &&
          !constant_sizes.contains(name.name)) {
        guess(
            fmt::format("{}{}: not defined in this file; if no header defines it, add it to params "
                        "and defines",
                        at, name.name));
        continue;
      }
      draft_.defines[name.name] = Json(name.name);
      const bool along =
          !dim_along({name.name}, 'x').empty() || !dim_along({name.name}, 'y').empty();
      const bool guarded = name.origin == OpenName::Origin::guarded;
      const bool is_size = along || is_neighbourhood(name.name);
      if (sounds_tunable(name.name) || (guarded && !is_size)) {
        add_tunable(name.name, name.value, at.c_str());
      } else {
        draft_.static_dims.push_back(name.name);
        draft_.static_values[name.name] = name.value;
        guess(fmt::format("{}{}: a static dim, compiled in as a macro", at, name.name));
      }
    }
  }

  void add_dim_if_none() {
    if (!draft_.dims.empty() || !draft_.static_dims.empty()) return;
    draft_.dims.emplace_back("n");
    decide(fmt::format("dims: {} takes no size, so the dim n is made up", draft_.signature.name));
  }

  Words parameter_names() const {
    Words names;
    for (const DraftParameter& parameter : draft_.params) {
      if (parameter.largest > 1) names.push_back(parameter.name);
    }
    return names;
  }

  std::string size_along(char axis, bool elements) const {
    const Words all = draft_.sizes();
    if (all.size() == 1) return all.front();
    std::string named = dim_along(all, axis);
    if (axis == 'x' && axes() == 1) {
      // One block per row, or one grid over all elements.
      const std::string rows = dim_along(all, 'y');
      return elements ? fmt::format("{}", fmt::join(all, " * "))
                      : (rows.empty() ? all.front() : rows);
    }
    if (!named.empty()) return named;
    const std::size_t from_end =
        axis == 'x' ? 1 : (axis == 'y' ? 2 : 3);  // the last dim is fastest
    return all.size() >= from_end ? all[all.size() - from_end] : all.front();
  }

  void lay_out_blocks() {
    const int count = axes();
    bool assumed = false;
    std::string product;
    std::int64_t largest = 1;
    for (int i = 0; i < count; ++i) {
      const char axis = "xyz"[i];
      const AxisUse threads = find_axis_use(source_, place_, axis, {});
      std::string block = block_parameter(parameter_names(), axis, count);
      if (block.empty() && (threads.threads || i == 0)) {
        block = count == 1 ? "THREADS" : fmt::format("BLOCK_{}", "XYZ"[i]);
        add_tunable(block, std::nullopt, "");
        assumed = true;
      }
      draft_.block.push_back(block.empty() ? "1" : block);
      if (!block.empty()) {
        product += (product.empty() ? "" : " * ") + block;
        largest *= std::ranges::find(draft_.params, block, &DraftParameter::name)->largest;
      }
      const AxisUse use = find_axis_use(source_, place_, axis, parameter_names());
      if (!use.blocks) {
        draft_.grid.emplace_back("1");
        continue;
      }
      const std::string work = work_parameter(parameter_names(), axis);
      std::string each = draft_.block.back();
      if (!work.empty() && work != block) each += " * " + work;
      const std::string size = size_along(axis, use.elements);
      draft_.grid.push_back(use.elements ? fmt::format("ceil_div({}, {})", size, each) : size);
    }
    while (draft_.grid.size() > 1 && draft_.grid.back() == "1") draft_.grid.pop_back();
    if (largest > 1024) draft_.constraints.push_back(product + " <= 1024");
    if (assumed) {
      guess(fmt::format("block: [{}]; no name in the kernel says how many threads a block has",
                        joined(draft_.block)));
    }
    decide(fmt::format(
        "grid: [{}] of blocks [{}] is a guess; compare it with how you launch the kernel",
        joined(draft_.grid), joined(draft_.block)));
  }

  Words shape_of(const KernelParameter& parameter) const {
    const Words all = draft_.sizes();
    Words shape = all;
    const std::set<std::string> names(all.begin(), all.end());
    for (const auto& [m, n, k] : {std::array{"m", "n", "k"}, std::array{"M", "N", "K"}}) {
      if (names != std::set<std::string>{m, n, k}) continue;
      if (parameter.name.starts_with('a') || parameter.name.starts_with('A')) shape = {m, k};
      if (parameter.name.starts_with('b') || parameter.name.starts_with('B')) shape = {k, n};
      if (parameter.name.starts_with('c') || parameter.name.starts_with('C')) shape = {m, n};
    }
    const std::string x = dim_along(all, 'x'), y = dim_along(all, 'y');
    if (all.size() == 2 && !x.empty() && !y.empty() && x != y) shape = {y, x};
    if (draft_.dims.empty() && all.size() > 2 && !x.empty() && !y.empty()) shape = {y, x};
    // filter [filter_height, filter_width]
    Words own;
    for (const std::string& dim : all) {
      if (dim.find(parameter.name + "_") != std::string::npos) own.push_back(dim);
    }
    if (!own.empty()) shape = own;
    if (own.empty() && parameter.lanes == 1) {
      shape = macro_shape(source_, parameter.name, all).value_or(shape);
    }
    if (parameter.lanes > 1) shape.push_back(std::to_string(parameter.lanes));
    return shape;
  }

  Status add_tensors() {
    bool output = false;
    for (const KernelParameter& parameter : draft_.signature.parameters) {
      if (!parameter.pointer) continue;
      const char* role = "in";
      std::string why = "const";
      if (!parameter.constant) {
        const PointerUse use = find_use(source_, place_, parameter.name);
        if (use == PointerUse::unused) {
          why = "the kernel does not use it";
        } else if (use == PointerUse::read) {
          why = "the kernel only reads it";
        } else if (use == PointerUse::read_and_written) {
          role = "inout";
          why = "the kernel reads it before it writes it";
        } else {
          role = "out";
          why = "the kernel writes it and does not read it first";
        }
        if (use == PointerUse::unknown) {
          why = "not const";
          decide(fmt::format(
              "{}: its role 'out' is a guess, because the kernel passes the pointer on; "
              "make it 'inout' if its values are read before they are written",
              parameter.name));
        }
      }
      output = output || std::string_view(role) != "in";
      draft_.tensors.push_back({&parameter, role, shape_of(parameter)});
      guess(fmt::format("{} ({}*): a tensor, {}, because {}", parameter.name, parameter.type, role,
                        why));
    }
    if (!output) {
      return invalid_argument(
          fmt::format("{}: no pointer of {} is written, so there is nothing to check. At least one "
                      "parameter must be a "
                      "pointer to elements that are not const",
                      source_.place(place_.line), draft_.signature.name));
    }
    add_constants();
    if (draft_.sizes().size() > 1 || draft_.dims.empty()) {
      Words shapes;
      for (const DraftTensor& tensor : draft_.tensors) {
        shapes.push_back(fmt::format("{} [{}]", tensor.parameter->name, joined(tensor.shape)));
      }
      decide(fmt::format("shapes: {} are guesses", joined(shapes)));
    }
    for (const DraftTensor& tensor : draft_.tensors) {
      if (std::string_view(tensor.role) == "out" || !tensor.parameter->type_variable.empty())
        continue;
      if (!is_floating(tensor.parameter->dtype)) {
        decide(
            fmt::format("{}: checks fill it with integers from 0 to 7; if they are indices, see "
                        "that all of them are valid",
                        tensor.parameter->name));
      }
    }
    return {};
  }

  // If the operator file does not have a name, the name is replaced by the number of its #define.
  std::string extent(const std::string& written) const {
    std::string text;
    const CudaSource content = read_cuda_source("", written);
    for (const CudaToken& token : content.tokens) {
      const auto open = std::ranges::find(open_names_, token.text, &OpenName::name);
      const bool fixed = open != open_names_.end() && open->value &&
                         !draft_.static_values.contains(token.text) &&
                         std::ranges::find(draft_.params, token.text, &DraftParameter::name) ==
                             draft_.params.end();
      text += fixed ? std::to_string(*open->value) : token.text;
    }
    return text;
  }

  void add_constants() {
    draft_.constants = find_constant_arrays(source_);
    for (const ConstantArray& constant : draft_.constants) {
      Words shape;
      for (const std::string& size : constant.extents) shape.push_back(extent(size));
      if (constant.array.lanes > 1) shape.push_back(std::to_string(constant.array.lanes));
      draft_.tensors.push_back({&constant.array, "in", std::move(shape)});
      draft_.constant_memory[constant.array.name] = Json(constant.array.name);
      guess(fmt::format("{} ({}): a tensor in constant memory; launches copy it there",
                        constant.array.name, constant.array.type));
    }
  }

  // Warns about integer outputs that depend on comparisons of floats, for example whether a point
  // is inside a polygon: near the edge, the reference must round as the kernel does.
  void note_decisions() {
    const auto is_real = [](const DraftTensor& tensor) {
      return !tensor.parameter->type_variable.empty() || is_floating(tensor.parameter->dtype);
    };
    if (std::ranges::none_of(draft_.tensors, is_real)) return;
    for (const DraftTensor& tensor : draft_.tensors) {
      if (std::string_view(tensor.role) == "in" || is_real(tensor)) continue;
      decide(fmt::format(
          "{}: integers. If comparisons of floating numbers decide them, compute these numbers in "
          "the reference in the kernel's own type, float and not double; otherwise they differ "
          "where two numbers nearly agree",
          tensor.parameter->name));
    }
  }

  void note_shared_memory() {
    add_dynamic_shared();
    for (std::size_t i = place_.body; i < place_.end; ++i) {
      if (!source_.is(i, "__shared__") || (i > 0 && source_.is(i - 1, "extern"))) continue;
      guess(
          fmt::format("line {}: __shared__ works as it is. Written as MG_SHARED of "
                      "<mg/shared.cuh>, the cpu device also finds races in it",
                      source_.tokens[i].line));
      return;
    }
  }

  // Uses only the first array of the kernel. Several arrays would be the same memory.
  void add_dynamic_shared() {
    const std::size_t begin = source_.tokens[place_.body].offset;
    const std::size_t end = source_.tokens[place_.end].offset;
    const std::vector<DynamicShared> arrays = find_dynamic_shared(source_);
    for (const DynamicShared& array : arrays) {
      if (array.begin < begin || array.begin >= end) continue;
      const bool is_variable =
          std::ranges::find(draft_.type_variables, array.type) != draft_.type_variables.end();
      draft_.shared_bytes = is_variable ? fmt::format("sizeof({})", array.type)
                                        : std::to_string(bytes_of_type(array.type).value_or(4));
      for (const std::string& threads : draft_.block) {
        if (threads != "1") draft_.shared_bytes.insert(0, threads + " * ");
      }
      guess(
          fmt::format("line {}: extern __shared__ {} {}[] is mg::dynamic_shared<{}>() in the copy, "
                      "which the cpu device checks",
                      array.line, array.type, array.name, array.type));
      decide(
          fmt::format("shared: {} bytes, one element of {} for each thread, is a guess; take the "
                      "third value of your launch's <<<grid, block, bytes>>>",
                      draft_.shared_bytes, array.name));
      return;
    }
    for (std::size_t i = 1; i + 1 < source_.tokens.size(); ++i) {
      if (!source_.is(i, "__shared__") || !source_.is(i - 1, "extern")) continue;
      const bool is_known = std::ranges::any_of(arrays, [&](const DynamicShared& array) {
        return array.line == source_.tokens[i - 1].line;
      });
      if (is_known) continue;
      decide(
          fmt::format("line {}: extern __shared__. Replace it by mg::dynamic_shared<T>() of "
                      "<mg/shared.cuh> in the kernel, and give the launch the key \"shared\": its "
                      "bytes",
                      source_.tokens[i].line));
      return;
    }
  }

  const CudaSource& source_;
  const KernelPlace& place_;
  NewFamily family_;
  FamilyDraft draft_;
  std::set<std::string> replaced_defines_;
  std::vector<OpenName> open_names_;
};

Result<KernelPlace> choose_kernel(const CudaSource& source, const std::string& kernel) {
  const std::vector<KernelPlace> kernels = find_kernels(source);
  if (kernels.empty()) {
    return invalid_argument(
        source.file +
        ": there is no __global__ function with a body in this file. --from takes the "
        "file that defines the kernel");
  }
  Words names;
  for (const KernelPlace& place : kernels) {
    names.push_back(fmt::format("{} (line {})", place.name, place.line));
  }
  if (kernel.empty()) {
    if (kernels.size() == 1) return kernels.front();
    return invalid_argument(
        fmt::format("{}: there are {} kernels in this file. Choose one with --kernel: {}",
                    source.file, kernels.size(), joined(names)));
  }
  const auto found = std::ranges::find(kernels, kernel, &KernelPlace::name);
  if (found != kernels.end()) return *found;
  return not_found(fmt::format("{}: no kernel '{}'{}; the kernels are {}", source.file, kernel,
                               did_you_mean(kernel, kernels, &KernelPlace::name), joined(names)));
}

// Checks that the new files are a valid operator.
Status check_operator(const NewFamily& family, const std::string& family_name) {
  auto sources = std::make_shared<SourceTree>();
  sources->folder = family_name;
  for (const NewFile& file : family.files) sources->files[file.name] = file.content;
  return decode_operator(family_name, family.operator_name, std::move(sources)).status();
}

}  // namespace

Result<NewFamily> family_from_kernel(const CudaSource& source, const std::string& kernel,
                                     const std::string& family) {
  MGTUNE_ASSIGN(const KernelPlace place, choose_kernel(source, kernel));
  MGTUNE_ASSIGN(KernelSignature signature, read_signature(source, place));
  MGTUNE_ASSIGN(NewFamily written, FamilyWriter(source, place, std::move(signature)).write());
  Status valid = check_operator(written, family);
  if (valid.ok()) return written;
  return std::move(valid).with_context(
      source.file + ": its names do not make an operator; rename them in the kernel");
}

}  // namespace mgtune
