import type { JsonDifferences } from '../../lib/util/json-diff.ts'
import type { NamedRevision } from './checkpoint-source.ts'
import type { SceneRevision } from './scene-revision.ts'

/** A revision of this run, or a checkpoint, whose number is of another run perhaps. */
type Endpoint = SceneRevision | NamedRevision

/**
 * The payload of `scene://delta`: how the scene went from `base` to `until`. A revision without a
 * scene counts as an empty object. Changes of more than `maxBytes` are left out and summed up.
 */
export function sceneDelta(
  base: Endpoint,
  until: Endpoint,
  { changes, truncated, summary }: JsonDifferences,
  maxBytes = Infinity,
): string {
  const from =
    'checkpoint' in base ? { base_checkpoint: base.checkpoint } : { base_revision: base.revision }
  const to = 'checkpoint' in until ? { checkpoint: until.checkpoint } : { revision: until.revision }
  const text = JSON.stringify({ ...from, ...to, changes, truncated, ...(truncated && { summary }) })
  if (Buffer.byteLength(text) <= maxBytes) return text
  let bytes = 0
  const fitting = changes.filter(change => {
    const size = Buffer.byteLength(JSON.stringify(change))
    if (bytes + size > maxBytes) return false
    bytes += size
    return true
  })
  return sceneDelta(base, until, { changes: fitting, truncated: true, summary })
}
