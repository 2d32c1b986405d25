import { diffJson } from '../../lib/json-diff.ts'
import type { SceneRevision } from './scene-state.ts'

/**
 * The payload of `scene://delta`: how the scene went from `base` to `current`. A revision
 * without a scene counts as an empty object, so all members of the first scene are `added`.
 */
export function sceneDelta(
  base: SceneRevision,
  current: SceneRevision,
  maxChanges: number,
): string {
  const { changes, truncated } =
    base.revision === current.revision
      ? { changes: [], truncated: false }
      : diffJson(parse(base), parse(current), maxChanges)
  return JSON.stringify({
    base_revision: base.revision,
    revision: current.revision,
    changes,
    truncated,
  })
}

/** The base is not kept (any more): the reader takes the whole scene and goes on from there. */
export function sceneReset(current: SceneRevision): string {
  return JSON.stringify({ reset: true, revision: current.revision })
}

function parse(revision: SceneRevision): unknown {
  return revision.text === null ? {} : JSON.parse(revision.text)
}
