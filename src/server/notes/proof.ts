import type { NoteProof } from '../../lib/mcp/note-proof.ts'
import type { SceneComparison } from '../checkpoints/compare-scenes.ts'
import { describeChanges } from '../../lib/mcp/change-words.ts'

/** Of each of the two lists. */
const maxLines = 30
const maxLineChars = 300

/** Where a person looks, what they select, and how much is listed is no change of the document. */
const ofPerson =
  /^\/(selection|viewport|document\/modified|time\/playing|truncated\/limit|objects\/\d+\/selected)(\/|$)/

/** Splits changes into those of what belongs to the objects that a note is about, and all others. */
export function splitChanges({
  changes,
  ofTargets,
}: Pick<SceneComparison, 'changes' | 'ofTargets'>): Pick<
  NoteProof,
  'asked' | 'also_changed' | 'more'
> {
  const lines = (ofTarget: boolean) =>
    describeChanges(
      changes.filter((change, at) => ofTargets[at] === ofTarget && !ofPerson.test(change.path)),
    )
  const [asked, others] = [lines(true), lines(false)]
  const more = Math.max(0, asked.length - maxLines) + Math.max(0, others.length - maxLines)
  return { asked: cut(asked), also_changed: cut(others), ...(more > 0 && { more }) }
}

function cut(lines: readonly string[]): readonly string[] {
  const short = (line: string) =>
    line.length > maxLineChars ? `${line.slice(0, maxLineChars)}…` : line
  return lines.slice(0, maxLines).map(line => short(line).toWellFormed())
}
