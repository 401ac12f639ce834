#include "html/html_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "html/markup.h"
#include "model/report_json.h"
#include "tests/helpers/made_up_report.h"

namespace mgtune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr char kHostile[] = "</script><img src=x onerror=alert(1)>\"'&";

std::string render(StoredRows rows) {
  const auto html = render_html(make_report_model(std::move(rows)));
  EXPECT_TRUE(html.ok());
  return html.value();
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// What stands before the data block, and what is in it.
std::string markup_of(const std::string& html) { return html.substr(0, html.find("<script")); }
std::string data_of(const std::string& html) {
  const std::string open = "<script type=\"application/json\" id=\"mgtune-data\">";
  const std::size_t start = html.find(open) + open.size();
  return html.substr(start, html.find("</script>", start) - start);
}

TEST(MarkupTest, EscapesContentAndAttributes) {
  EXPECT_EQ(escape("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
  EXPECT_EQ(escape(std::string("\0\x1b\xFF", 3)), "\\x00\\x1b\xEF\xBF\xBD");
  EXPECT_EQ(escape_json("[\"</script>&\"]"), "[\"\\u003c/script\\u003e\\u0026\"]");
}

TEST(MarkupTest, TablesHaveCaptionAndScopesAndNoEmptyColumns) {
  HtmlTable table("cap", {{"A"}, {"B"}, {"N", HtmlTable::Align::right}});
  table.add_row({"1", "", "2"});
  EXPECT_THAT(table.html(), HasSubstr("<caption>cap</caption>"));
  EXPECT_THAT(table.html(),
              HasSubstr("<th scope=\"col\">A</th><th scope=\"col\" class=\"number\">N</th>"));
  EXPECT_THAT(table.html(),
              HasSubstr("<tr><th scope=\"row\">1</th><td class=\"number\">2</td></tr>"));
  EXPECT_THAT(table.html(), Not(HasSubstr(">B<")));
}

TEST(HtmlReportTest, IsOneFileThatFetchesAndRunsNothing) {
  const std::string html = render(made_up_rows());
  EXPECT_THAT(html, ::testing::StartsWith("<!DOCTYPE html>\n"));
  EXPECT_THAT(html, HasSubstr("content=\"default-src 'none'; style-src 'unsafe-inline';"));
  EXPECT_EQ(occurrences(html, "<script"), 1u) << "only the data";
  for (const char* part :
       {"http://", "https://", " src=", "@import", "url(", "javascript:", " onload"}) {
    EXPECT_THAT(html, Not(HasSubstr(part)));
  }
}

TEST(HtmlReportTest, ShowsVerdictPicksVariantsAndEnvironment) {
  const std::string html = markup_of(render(made_up_rows()));
  for (const char* part :
       {"<h2>Verdict</h2>", "<h2>Picks against the default</h2>", "<h2>All variants</h2>",
        "<h2>Failures</h2>", "<h2>Environment</h2>", "<h2>How it was measured</h2>",
        "beats the default on 1 of 2 problems", "<strong class=\"gain\">1.50x</strong>",
        "<span class=\"badge tie\">tie</span>", "3356", "6 variants, 3 failed, fastest 20.00 us",
        "<code>mgtune sweep --kernel rmsnorm --gpu H200</code>", "580.65.06", "NVRTC 13.0.88",
        "forward.cu(61): error: no 32-byte vector",
        "mgtune report: rmsnorm.forward on 2 devices"}) {
    EXPECT_THAT(html, HasSubstr(part));
  }
}

TEST(HtmlReportTest, EveryCpuTimeHasTheBadge) {
  StoredRows rows = made_up_rows();
  std::erase_if(rows.outcomes, [](const auto& view) { return !view.gpu.emulation; });
  std::erase_if(rows.tuned, [](const auto& view) { return !view.gpu.emulation; });
  const std::string html = markup_of(render(std::move(rows)));
  const std::regex time("[0-9.]+ (ns|us|ms)(?! to )");
  std::size_t times = 0;
  for (std::sregex_iterator it(html.begin(), html.end(), time), end; it != end; ++it, ++times) {
    const auto after = static_cast<std::size_t>(it->position() + it->length());
    EXPECT_EQ(html.compare(after, 30, " <span class=\"badge emulation\">", 30), 0) << it->str();
  }
  EXPECT_EQ(times, 7u)
      << "pick, default, the fastest in the summary, two medians, two third quartiles";
  EXPECT_THAT(html, HasSubstr("These are emulation times"));
  EXPECT_THAT(html, HasSubstr("say nothing about a GPU"));
  EXPECT_THAT(html, Not(HasSubstr("GB/s</th>")));
  EXPECT_THAT(html, Not(HasSubstr("class=\"gain\"")));
}

TEST(HtmlReportTest, WithoutCpuTimesThereIsNoBadge) {
  StoredRows rows = made_up_rows();
  std::erase_if(rows.outcomes, [](const auto& view) { return view.gpu.emulation; });
  std::erase_if(rows.tuned, [](const auto& view) { return view.gpu.emulation; });
  std::erase_if(rows.sweeps, [](const auto& view) { return view.gpu.emulation; });
  EXPECT_THAT(markup_of(render(std::move(rows))), Not(HasSubstr("badge emulation")));
}

TEST(HtmlReportTest, HostileTextIsShownAsText) {
  StoredRows rows = made_up_rows();
  for (OutcomeView& view : rows.outcomes) {
    view.variant += kHostile;
    view.problem += kHostile;
    view.op += kHostile;
    view.gpu.model += kHostile;
    view.message = kHostile;
    if (view.measurement) view.measurement->note = view.measurement->method = kHostile;
  }
  for (TunedView& view : rows.tuned) {
    view.tuned.variant = view.tuned.default_variant = kHostile;
    view.problem = view.op = view.gpu.model = view.tuned.method = kHostile;
  }
  for (SweepView& view : rows.sweeps) {
    view.sweep.command = view.sweep.strategy = view.sweep.budget = kHostile;
    view.sweep.started_at = view.sweep.finished_at = kHostile;
    view.gpu.model = view.gpu.arch = view.gpu.mig_profile = kHostile;
    view.environment = {kHostile, kHostile, kHostile, kHostile};
  }
  const std::string html = render(std::move(rows));
  EXPECT_EQ(occurrences(html, "<img"), 0u);
  EXPECT_EQ(occurrences(html, "</script>"), 1u);
  EXPECT_THAT(markup_of(html), HasSubstr("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;"));
  EXPECT_THAT(data_of(html), Not(HasSubstr("<")));
  EXPECT_THAT(Json::parse(data_of(html)).dump(), HasSubstr("</script><img src=x"));
}

TEST(HtmlReportTest, DataBlockIsTheReportAsJson) {
  const ReportModel model = make_report_model(made_up_rows());
  const auto html = render_html(model);
  EXPECT_EQ(Json::parse(data_of(html.value())), Json::parse(report_json(model)));
}

TEST(HtmlReportTest, AnEmptyStoreSaysWhatFillsEachPart) {
  const std::string html = render({});
  EXPECT_EQ(occurrences(html, "<p class=\"empty\">"), 5u);
  EXPECT_EQ(occurrences(
                html, "Fill this part with: <code>mgtune sweep --kernel rmsnorm --gpu auto</code>"),
            5u);
  EXPECT_THAT(html, HasSubstr("There are no results yet."));
  EXPECT_THAT(html, HasSubstr("<title>mgtune report</title>"));
  EXPECT_TRUE(Json::parse(data_of(html))["picks"].empty());
}

TEST(HtmlReportTest, TenThousandVariantsRenderQuickly) {
  StoredRows rows;
  for (int i = 0; i < 10000; ++i) {
    const std::string variant =
        "row THREADS_PER_ROW=" + std::to_string(i) + " ROWS_PER_BLOCK=1 VEC=8";
    rows.outcomes.push_back(
        made_up_outcome(kH200, "rows=" + std::to_string(i % 10), variant, Outcome::ok, 1000 + i));
  }
  const std::clock_t start = std::clock();  // of this process: a busy machine does not count
  const std::string html = render(std::move(rows));
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_EQ(occurrences(html, "<th scope=\"row\">"), 10000u);
  EXPECT_LT(html.size(), 20u << 20);
#ifdef __OPTIMIZE__
  const bool optimized = std::string(MGTUNE_SANITIZE).empty();
#else
  const bool optimized = false;
#endif
  EXPECT_LT(seconds, optimized ? 2 : 20);
}

}  // namespace
}  // namespace mgtune
