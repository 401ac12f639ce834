#include "core/text.h"

#include <algorithm>
#include <cctype>

namespace mgtune {
namespace {

// Optimal string alignment distance, O(|a| * |b|).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

std::string_view cut_number(std::string_view& text) {
  const auto end = std::ranges::find_if_not(text, is_digit);
  std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

}  // namespace

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  const std::string* best = nullptr;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = &candidate;
    }
  }
  return best ? "; did you mean '" + *best + "'?" : "";
}

std::string must_be_one_of(std::string_view word, std::span<const std::string> candidates) {
  const std::string suggestion = did_you_mean(word, candidates);
  std::string text =
      suggestion.empty() ? "; it must be one of: " : suggestion + " It must be one of: ";
  for (const std::string& candidate : candidates) {
    if (&candidate != candidates.data()) text += ", ";
    text += candidate;
  }
  return text;
}

int compare_naturally(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const std::string_view x = cut_number(a);
      const std::string_view y = cut_number(b);
      if (x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
      if (const int order = x.compare(y); order != 0) return order;
    } else {
      if (a.front() != b.front()) return a.front() < b.front() ? -1 : 1;
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return static_cast<int>(!a.empty()) - static_cast<int>(!b.empty());
}

std::optional<std::int64_t> whole_number(std::string_view word) {
  const auto number = parse_number<std::int64_t>(word);
  return number && std::to_string(*number) == word ? number : std::nullopt;
}

bool is_boolean(std::string_view word) { return word == "true" || word == "false"; }

std::vector<std::string> split_list(std::string_view list) {
  std::vector<std::string> words;
  for (std::size_t start = 0; start <= list.size();) {
    const std::size_t end = std::min(list.find(',', start), list.size());
    words.emplace_back(list.substr(start, end - start));
    start = end + 1;
  }
  return words;
}

std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(word);
  }
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace mgtune
