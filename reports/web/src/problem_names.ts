// Short names of problems: words that all problems of an operator share are said once and not in each name.

import { at } from './group';
import type { Problem, Report } from './report';

function wordsOf(problem: Problem): readonly string[] {
  return problem.problem.split(' ');
}

// Of each document, by operator: a table of picks asks for each row.
const kKnown = new WeakMap<Report, Map<string, readonly string[]>>();

function sharedWords(report: Report, operator: string): readonly string[] {
  const known = kKnown.get(report) ?? new Map<string, readonly string[]>();
  kKnown.set(report, known);
  const words = known.get(operator) ?? findSharedWords(report, operator);
  known.set(operator, words);
  return words;
}

// Of the operator's problems that have a pick. None if a name would be empty without them, or there is one problem only.
function findSharedWords(report: Report, operator: string): readonly string[] {
  const problems = [...new Set(report.picks.map((pick) => pick.problem))].map((each) => at(report.problems, each))
    .filter((each) => each.operator === operator);
  const shared = wordsOf(problems[0] ?? at(report.problems, 0)).filter((word) => problems.every((each) => wordsOf(each).includes(word)));
  const isAmbiguous = problems.some((each) => wordsOf(each).every((word) => shared.includes(word)));
  return problems.length < 2 || isAmbiguous ? [] : shared;
}

// "attention.decode batch=8 kv_len=8192"
export function shortProblemName(report: Report, problem: Problem): string {
  const shared = sharedWords(report, problem.operator);
  return [problem.operator, ...wordsOf(problem).filter((word) => !shared.includes(word))].join(' ');
}

// "All problems have T=bf16.", or a sentence for each operator; "" where the names are whole.
export function sharedWordsText(report: Report): string {
  const operators = [...new Set(report.picks.map((pick) => at(report.problems, pick.problem).operator))];
  const texts = operators.map((operator) => [operator, sharedWords(report, operator).join(' ')] as const).filter(([, text]) => text !== '');
  const [first] = texts;
  if (first === undefined) return '';
  if (texts.length === operators.length && texts.every(([, text]) => text === first[1])) return `All problems have ${first[1]}.`;
  return texts.map(([operator, text]) => `All of ${operator} have ${text}.`).join(' ');
}
