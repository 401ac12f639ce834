#include "html/report_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "document/report_document.h"
#include "html/markup.h"
#include "tests/helpers/made_up_report.h"

namespace mgtune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kHostileText[] = "</script><img src=x onerror=alert(1)>\"'&";

constexpr char kPage[] =
    "<!doctype html>\n<html lang=\"en\"><head><title>mgtune report</title></head><body>\n"
    "<main id=\"static\"></main>\n"
    "<script type=\"application/json\" id=\"report-data\"></script>\n</body></html>\n";

std::string page_document(const ReportModel& model) {
  return report_document(model, analyze(model), {});
}

// In a template of nothing but its places.
std::string render(StoredRows rows) {
  const ReportModel model = make_report_model(std::move(rows));
  const auto html = render_page(model, page_document(model), kPage);
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
  const std::string open = "<script type=\"application/json\" id=\"report-data\">";
  const std::size_t start = html.find(open) + open.size();
  return html.substr(start, html.find("</script>", start) - start);
}

TEST(MarkupTest, EscapesContentAndAttributes) {
  EXPECT_EQ(escape("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
  EXPECT_EQ(escape(std::string("\0\x1b\xFF", 3)), "\\x00\\x1b\xEF\xBF\xBD");
  EXPECT_EQ(escape_json("[\"</script>&\"]"), "[\"\\u003c/script\\u003e\\u0026\"]");
  EXPECT_EQ(escape_json("\"\xE2\x80\xA8 \xE2\x80\xA9\""), "\"\\u2028 \\u2029\"");
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

TEST(ReportPageTest, TheShippedPageHasAPlaceForEverything) {
  const ReportModel model = make_report_model(made_up_rows());
  const auto html = render_page(model, page_document(model));
  ASSERT_TRUE(html.ok()) << html.status().message();
  EXPECT_EQ(occurrences(*html, "<title>mgtune report: rmsnorm.forward on 2 devices</title>"), 1u);
  EXPECT_EQ(occurrences(*html, "<main id=\"static\">\n<h1>"), 1u);
  EXPECT_EQ(nlohmann::json::parse(data_of(*html)), nlohmann::json::parse(page_document(model)));
  EXPECT_THAT(*html,
              HasSubstr("http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';"));
  EXPECT_LT(html->size(), 3u << 20);
}

TEST(ReportPageTest, ATemplateWithoutAPlaceIsAnError) {
  const ReportModel model = make_report_model({});
  EXPECT_FALSE(render_page(model, "{}", "<title>mgtune report</title>").ok());
}

TEST(ReportPageTest, WhatWasFilledInIsNoPlace) {
  StoredRows rows = made_up_rows();
  for (OutcomeView& view : rows.outcomes) view.op = "<title>mgtune report</title>";
  EXPECT_EQ(occurrences(render(std::move(rows)), "<title>"), 1u);
}

TEST(ReportPageTest, ShowsVerdictPicksVariantsAndEnvironment) {
  const std::string html = markup_of(render(made_up_rows()));
  for (const char* part :
       {"<h2>Verdict</h2>", "<h2>Picks against the default</h2>", "<h2>Variants</h2>",
        "<h2>Failures</h2>", "<h2>Environment</h2>", "<h2>How it was measured</h2>",
        "beats the default on 1 of 2 problems", "<strong class=\"gain\">1.50x</strong>",
        "<span class=\"badge tie\">tie</span>", "3356", "6 variants, 3 failed, fastest 20.00 us",
        "<code>mgtune sweep --kernel rmsnorm --gpu H200</code>", "580.65.06", "NVRTC 13.0.88",
        "forward.cu(61): error: no 32-byte vector",
        "mgtune report: rmsnorm.forward on 2 devices"}) {
    EXPECT_THAT(html, HasSubstr(part));
  }
}

TEST(ReportPageTest, EveryCpuTimeHasTheBadge) {
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

TEST(ReportPageTest, WithoutCpuTimesThereIsNoBadge) {
  StoredRows rows = made_up_rows();
  std::erase_if(rows.outcomes, [](const auto& view) { return view.gpu.emulation; });
  std::erase_if(rows.tuned, [](const auto& view) { return view.gpu.emulation; });
  std::erase_if(rows.sweeps, [](const auto& view) { return view.gpu.emulation; });
  EXPECT_THAT(markup_of(render(std::move(rows))), Not(HasSubstr("badge emulation")));
}

TEST(ReportPageTest, HostileTextIsShownAsText) {
  StoredRows rows = made_up_rows();
  for (OutcomeView& view : rows.outcomes) {
    view.variant += kHostileText;
    view.problem += kHostileText;
    view.op += kHostileText;
    view.gpu.model += kHostileText;
    view.message = kHostileText;
    if (view.measurement) view.measurement->note = view.measurement->method = kHostileText;
  }
  for (TunedView& view : rows.tuned) {
    view.tuned.variant = view.tuned.default_variant = kHostileText;
    view.problem = view.op = view.gpu.model = view.tuned.method = kHostileText;
  }
  for (SweepView& view : rows.sweeps) {
    view.sweep.command = view.sweep.strategy = view.sweep.budget = kHostileText;
    view.sweep.started_at = view.sweep.finished_at = kHostileText;
    view.gpu.model = view.gpu.arch = view.gpu.mig_profile = kHostileText;
    view.environment = {kHostileText, kHostileText, kHostileText, kHostileText};
  }
  const std::string html = render(std::move(rows));
  EXPECT_EQ(occurrences(html, "<img"), 0u);
  EXPECT_EQ(occurrences(html, "</script>"), 1u);
  EXPECT_THAT(markup_of(html), HasSubstr("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;"));
  EXPECT_THAT(data_of(html), Not(HasSubstr("<")));
  EXPECT_THAT(nlohmann::json::parse(data_of(html)).dump(), HasSubstr("</script><img src=x"));
}

TEST(ReportPageTest, AnEmptyStoreSaysWhatFillsEachPart) {
  const std::string html = render({});
  EXPECT_EQ(occurrences(html, "<p class=\"empty\">"), 5u);
  EXPECT_EQ(occurrences(
                html, "Fill this part with: <code>mgtune sweep --kernel rmsnorm --gpu auto</code>"),
            5u);
  EXPECT_THAT(html, HasSubstr("There are no results yet."));
  EXPECT_THAT(html, HasSubstr("<title>mgtune report</title>"));
  EXPECT_TRUE(nlohmann::json::parse(data_of(html))["picks"].empty());
}

TEST(ReportPageTest, TheStaticTablesHaveTheFastestOfEachProblem) {
  StoredRows rows;
  for (int i = 0; i < 100; ++i) {
    rows.outcomes.push_back(
        made_up_outcome(kH200, "rows=1", "row VEC=" + std::to_string(i), Outcome::ok, 1000 + i));
  }
  const std::string html = markup_of(render(std::move(rows)));
  EXPECT_EQ(occurrences(html, "<th scope=\"row\">"), 20u);
  EXPECT_THAT(html, HasSubstr("<code>row VEC=0</code>"));
  EXPECT_THAT(html, HasSubstr("80 variants more: <code>mgtune show variants</code>"));
}

}  // namespace
}  // namespace mgtune
