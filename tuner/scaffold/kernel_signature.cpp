#include "scaffold/kernel_signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace mgtune {
namespace {

struct ElementType {
  DType dtype;
  int lanes = 1;
};

const std::map<std::string, ElementType, std::less<>>& named_types() {
  static const std::map<std::string, ElementType, std::less<>> kTypes = [] {
    std::map<std::string, ElementType, std::less<>> types = {{"bool", {DType::u8}},
                                                             {"char", {DType::i8}},
                                                             {"signed char", {DType::i8}},
                                                             {"unsigned char", {DType::u8}},
                                                             {"int", {DType::i32}},
                                                             {"signed", {DType::i32}},
                                                             {"signed int", {DType::i32}},
                                                             {"unsigned", {DType::u32}},
                                                             {"unsigned int", {DType::u32}},
                                                             {"float", {DType::f32}},
                                                             {"double", {DType::f64}},
                                                             {"size_t", {DType::u64}},
                                                             {"ptrdiff_t", {DType::i64}},
                                                             {"uchar", {DType::u8}},
                                                             {"uint", {DType::u32}},
                                                             {"ulong", {DType::u64}},
                                                             {"half", {DType::f16}},
                                                             {"__half", {DType::f16}},
                                                             {"nv_bfloat16", {DType::bf16}},
                                                             {"__nv_bfloat16", {DType::bf16}},
                                                             {"half2", {DType::f16, 2}},
                                                             {"__half2", {DType::f16, 2}},
                                                             {"nv_bfloat162", {DType::bf16, 2}},
                                                             {"__nv_bfloat162", {DType::bf16, 2}}};
    for (const char* const suffix : {"", " int"}) {
      for (const char* const size : {"long", "long long"}) {
        types[fmt::format("{}{}", size, suffix)] = {DType::i64};
        types[fmt::format("signed {}{}", size, suffix)] = {DType::i64};
        types[fmt::format("unsigned {}{}", size, suffix)] = {DType::u64};
      }
    }
    const std::pair<const char*, DType> fixed[] = {
        {"int8_t", DType::i8},    {"uint8_t", DType::u8},  {"int32_t", DType::i32},
        {"uint32_t", DType::u32}, {"int64_t", DType::i64}, {"uint64_t", DType::u64},
        {"i32", DType::i32},      {"u32", DType::u32},     {"i64", DType::i64},
        {"u64", DType::u64}};
    for (const auto& [name, dtype] : fixed) types[name] = {dtype};
    const std::pair<const char*, DType> vectors[] = {
        {"char", DType::i8},      {"uchar", DType::u8},     {"int", DType::i32},
        {"uint", DType::u32},     {"float", DType::f32},    {"double", DType::f64},
        {"longlong", DType::i64}, {"ulonglong", DType::u64}};
    for (const auto& [name, dtype] : vectors) {
      for (int lanes = 1; lanes <= 4; ++lanes)
        types[fmt::format("{}{}", name, lanes)] = {dtype, lanes};
    }
    return types;
  }();
  return kTypes;
}

bool is_ignored(const std::string& word) {
  static const std::set<std::string, std::less<>> kIgnored = {
      "volatile", "__restrict__", "__restrict", "restrict", "__grid_constant__", "register",
      "std",      "mg",           "::",         "struct",   "maybe_unused"};
  return kIgnored.contains(word);
}

// The tokens of a list between two brackets, split at the commas that no other bracket encloses.
std::vector<std::vector<CudaToken>> split_list(const CudaSource& source, std::size_t open) {
  std::vector<std::vector<CudaToken>> parts;
  const std::size_t end = source.after_bracket(open) - 1;
  for (std::size_t i = open + 1; i < end;) {
    if (parts.empty()) parts.emplace_back();
    if (source.is(i, ",")) {
      parts.emplace_back();
      ++i;
      continue;
    }
    const bool bracket =
        source.is(i, "(") || source.is(i, "[") || source.is(i, "{") || source.is(i, "<");
    const std::size_t next = bracket ? source.after_bracket(i) : i + 1;
    for (; i < next; ++i) parts.back().push_back(source.tokens[i]);
  }
  return parts;
}

std::string written(const std::vector<CudaToken>& tokens) {
  std::string text;
  bool word_before = false;
  for (const CudaToken& token : tokens) {
    const bool word = token.kind != CudaToken::Kind::mark;
    if (word && word_before) text += ' ';
    text += token.text;
    word_before = word;
  }
  return text;
}

class SignatureReader {
 public:
  SignatureReader(const CudaSource& source, const KernelPlace& place)
      : source_(source), place_(place) {}

  Result<KernelSignature> read() {
    signature_.name = place_.name;
    if (place_.template_list != 0) {
      for (const auto& part : split_list(source_, place_.template_list)) {
        MGTUNE_TRY(read_template_parameter(part));
      }
    }
    for (const auto& part : split_list(source_, place_.parameters))
      MGTUNE_TRY(read_parameter(part));
    return std::move(signature_);
  }

 private:
  Status refusal(int line, const std::string& what) const {
    return unsupported(source_.place(line) + ": " + what);
  }

  // typename T, class T = float, int N, unsigned N = 4, bool B
  Status read_template_parameter(const std::vector<CudaToken>& part) {
    TemplateParameter parameter;
    parameter.line = part.empty() ? place_.line : part.front().line;
    std::vector<CudaToken> declared, fallback;
    bool after = false;
    for (const CudaToken& token : part) {
      if (token.text == "=") {
        after = true;
      } else {
        (after ? fallback : declared).push_back(token);
      }
    }
    parameter.fallback = written(fallback);
    const std::string text = written(declared);
    const bool named = declared.size() >= 2 && declared.back().kind == CudaToken::Kind::word;
    const std::string type =
        named ? written({declared.begin(), declared.end() - 1}) : std::string();
    if (!named || text.find("...") != std::string::npos) {
      return refusal(parameter.line,
                     fmt::format("the template parameter '{}' of {} is not a type, an "
                                 "integer or a bool with a name",
                                 text, place_.name));
    }
    parameter.name = declared.back().text;
    const auto& types = named_types();
    const auto known = types.find(type.starts_with("const ") ? type.substr(6) : type);
    if (type == "typename" || type == "class") {
      parameter.kind = TemplateParameter::Kind::type;
    } else if (type == "bool") {
      parameter.kind = TemplateParameter::Kind::boolean;
    } else if (known == types.end() || known->second.lanes != 1) {
      return refusal(
          parameter.line,
          fmt::format("the template parameter '{}' of {} has the type '{}'. An operator file "
                      "passes types, integers, bools, and the values of an enum class; "
                      "write the family by hand for an enum (kernels/README.md, params)",
                      parameter.name, place_.name, type));
    }
    signature_.template_parameters.push_back(std::move(parameter));
    return {};
  }

  // [const] type [const] [*] [const] [__restrict__] name [= default]
  Status read_parameter(const std::vector<CudaToken>& part) {
    if (part.size() == 1 && part.front().text == "void") return {};
    KernelParameter parameter;
    parameter.line = part.empty() ? place_.line : part.front().line;
    std::vector<std::string> words;  // the type's words, then the name
    int pointers = 0;
    std::string odd;  // a mark that no supported type has
    for (std::size_t i = 0; i < part.size(); ++i) {
      const CudaToken& token = part[i];
      if (token.text == "=") break;
      if (token.text == "const") {
        parameter.constant = parameter.constant || pointers == 0;
      } else if (token.text == "*") {
        ++pointers;
      } else if (token.text == "[" && i + 1 < part.size() && !words.empty()) {
        if (part[i + 1].text == "[") continue;  // [[maybe_unused]]
        ++pointers;                             // T name[] is a pointer
        while (i < part.size() && part[i].text != "]") ++i;
      } else if (token.text == "]" || token.text == "[" || is_ignored(token.text)) {
        continue;
      } else if (token.kind == CudaToken::Kind::word) {
        words.push_back(token.text);
      } else if (odd.empty()) {
        odd = token.text;
      }
    }
    if (odd == "&") {
      return refused(parameter, part, "is a reference; pass it by value or as a pointer");
    }
    if (odd == "..") odd = "...";
    if (!odd.empty() || words.size() < 2) {
      return refused(parameter, part,
                     "is not a pointer, a number, or has no name. Give it a name, or pass its "
                     "members one by one");
    }
    parameter.name = words.back();
    words.pop_back();
    for (const std::string& word : words) {
      parameter.type += (parameter.type.empty() ? "" : " ") + word;
    }
    parameter.pointer = pointers > 0;
    if (pointers > 1) {
      return refused(
          parameter, part,
          "is a pointer to pointers. mgtune passes arrays that lie in one piece; make it "
          "one array with an index");
    }
    MGTUNE_TRY(resolve_type(parameter, part));
    signature_.parameters.push_back(std::move(parameter));
    return {};
  }

  Status resolve_type(KernelParameter& parameter, const std::vector<CudaToken>& part) {
    const auto& types = named_types();
    if (const auto found = types.find(parameter.type); found != types.end()) {
      parameter.dtype = found->second.dtype;
      parameter.lanes = found->second.lanes;
      if (parameter.pointer || parameter.lanes == 1) return {};
      return refused(parameter, part, "is a vector by value; pass its members one by one");
    }
    const auto of_template =
        std::ranges::find(signature_.template_parameters, parameter.type, &TemplateParameter::name);
    if (of_template != signature_.template_parameters.end() &&
        of_template->kind == TemplateParameter::Kind::type) {
      parameter.type_variable = parameter.type;
      return {};
    }
    if (parameter.type == "cudaTextureObject_t" || parameter.type == "cudaSurfaceObject_t") {
      return refused(parameter, part,
                     "is a texture or surface; read the data through a const pointer");
    }
    if (parameter.type.find("short") != std::string::npos ||
        parameter.type.find("int16") != std::string::npos) {
      return refused(parameter, part,
                     "has 16-bit integers, which are no dtype. The dtypes are f64 f32 f16 bf16 i64 "
                     "u64 i32 u32 i8 u8");
    }
    return refused(
        parameter, part,
        parameter.pointer
            ? "points to elements of a type that is no dtype. The dtypes are f64 f32 f16 "
              "bf16 i64 u64 i32 u32 i8 u8, and vectors such as float4"
            : "is not a number. A struct cannot be passed; pass its members one by one");
  }

  Status refused(const KernelParameter& parameter, const std::vector<CudaToken>& part,
                 const std::string& why) const {
    const std::size_t index = signature_.parameters.size() + 1;
    return refusal(parameter.line, fmt::format("parameter {} of {}, '{}', {}", index, place_.name,
                                               written(part), why));
  }

  const CudaSource& source_;
  const KernelPlace& place_;
  KernelSignature signature_;
};

// The kernel whose __global__ is the token `i`, if it is a definition.
std::optional<KernelPlace> kernel_at(const CudaSource& source, std::size_t i) {
  while (i + 1 < source.tokens.size()) {
    if (source.is(i, ";") || source.is(i, "{")) return std::nullopt;
    if (source.is_word(i) && source.is(i + 1, "(")) {
      const std::size_t after = source.after_bracket(i + 1);
      if (source.is(after, "{")) {  // __launch_bounds__(256) does not continue with "{"
        return KernelPlace{source.tokens[i].text,      source.tokens[i].line, 0, i + 1, after,
                           source.after_bracket(after)};
      }
      i = after;
      continue;
    }
    ++i;
  }
  return std::nullopt;
}

}  // namespace

std::vector<KernelPlace> find_kernels(const CudaSource& source) {
  std::vector<KernelPlace> kernels;
  std::size_t template_list = 0;
  for (std::size_t i = 0; i + 1 < source.tokens.size(); ++i) {
    if (source.is(i, "template") && source.is(i + 1, "<")) {
      template_list = source.is(i + 2, ">") ? 0 : i + 1;
      i = source.after_bracket(i + 1) - 1;
    } else if (source.is(i, "__global__")) {
      if (std::optional<KernelPlace> place = kernel_at(source, i)) {
        place->template_list = template_list;
        i = place->end - 1;
        kernels.push_back(std::move(*place));
      }
      template_list = 0;
    } else if (source.is(i, ";") || source.is(i, "{")) {
      template_list = 0;
    }
  }
  return kernels;
}

std::vector<ConstantArray> find_constant_arrays(const CudaSource& source) {
  std::vector<ConstantArray> arrays;
  for (std::size_t i = 0; i + 1 < source.tokens.size(); ++i) {
    if (!source.is(i, "__constant__")) continue;
    ConstantArray found;
    std::string name;
    std::size_t at = i + 1;
    for (; source.is_word(at); ++at) {
      if (source.tokens[at].text == "const" || is_ignored(source.tokens[at].text)) continue;
      if (!name.empty()) found.array.type += (found.array.type.empty() ? "" : " ") + name;
      name = source.tokens[at].text;
      found.array.line = source.tokens[at].line;
    }
    while (source.is(at, "[")) {
      const std::size_t end = source.after_bracket(at);
      found.extents.push_back(
          written({source.tokens.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                   source.tokens.begin() + static_cast<std::ptrdiff_t>(end) - 1}));
      at = end;
    }
    const auto type = named_types().find(found.array.type);
    if (found.extents.empty() || !source.is(at, ";") || type == named_types().end()) continue;
    found.array.name = name;
    found.array.dtype = type->second.dtype;
    found.array.lanes = type->second.lanes;
    found.array.pointer = found.array.constant = true;
    arrays.push_back(std::move(found));
  }
  return arrays;
}

std::optional<std::int64_t> bytes_of_type(const std::string& type) {
  const auto found = named_types().find(type);
  if (found == named_types().end()) return std::nullopt;
  return static_cast<std::int64_t>(size_in_bytes(found->second.dtype)) * found->second.lanes;
}

Result<KernelSignature> read_signature(const CudaSource& source, const KernelPlace& place) {
  return SignatureReader(source, place).read();
}

}  // namespace mgtune
