// Times of other implementations beside a pick. A document without the part has none.

import { at } from './group';
import type { Peer, Pick, Report } from './report';

// Those of the pick's problem on its GPU, the fastest first.
export function peersOf(report: Report, pick: Pick): readonly Peer[] {
  const problem = at(report.problems, pick.problem);
  return report.peers.filter((each) => each.gpu === problem.gpu && each.operator === problem.operator && each.problem === problem.problem)
    .sort((a, b) => a.median_ns - b.median_ns);
}

// "torch.compile 2.11.0"
export function peerName(peer: Peer): string {
  return peer.version === '' ? peer.name : `${peer.name} ${peer.version}`;
}

// How the peer was timed, where that is not how the pick was; otherwise "".
export function otherMethod(report: Report, pick: Pick, peer: Peer): string {
  const ours = report.methods[pick.method]?.name ?? '';
  return peer.method === ours || peer.method === '' ? '' : `timed by ${peer.method}, the pick by ${ours}`;
}

// "2026-11-21" of "2026-11-21T09:00:00Z".
function day(time: string): string {
  return time.split('T')[0] ?? '';
}

// When the peer was timed, where that is another day than the pick's; otherwise "".
export function otherDate(report: Report, pick: Pick, peer: Peer): string {
  const ours = pick.sweep === null ? '' : day(report.sweeps[pick.sweep]?.started_at ?? '');
  const theirs = day(peer.measured_at);
  return theirs === '' || ours === '' || theirs === ours ? '' : `timed on ${theirs}, the pick on ${ours}`;
}

// Both, where they differ.
export function peerNotes(report: Report, pick: Pick, peer: Peer): readonly string[] {
  return [otherMethod(report, pick, peer), otherDate(report, pick, peer)].filter((each) => each !== '');
}
