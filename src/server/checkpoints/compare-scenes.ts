import { isJsonObject, type JsonObject } from '../../lib/util/json.ts'
import { asText } from '../../lib/util/text.ts'
import type { JsonChange, JsonDifferences } from '../../lib/util/json-diff.ts'
import { changesBetween, parseScene } from '../resources/scene-changes.ts'

export interface ComparedScenes {
  /** Texts of JSON; null: there is no scene. */
  readonly base: string | null
  readonly current: string | null
  readonly maxChanges: number
  /** Ids of objects. */
  readonly targets: readonly string[]
}

export interface SceneComparison extends JsonDifferences {
  /** For each change, whether it is in what belongs to the targets. */
  readonly ofTargets: readonly boolean[]
}

/**
 * What changed between two scenes. What belongs to an object: its children, and items of other
 * lists that it names, such as its materials.
 */
export function compareScenes(compared: ComparedScenes): SceneComparison {
  const { base, current, maxChanges, targets } = compared
  if (base === current) return { changes: [], truncated: false, summary: {}, ofTargets: [] }
  const [before, after] = [parseScene(base), parseScene(current)]
  const { changes, truncated, summary } = changesBetween(before, after, maxChanges)
  const scenes = targets.length === 0 ? [] : [before, after]
  const renamed = changes.filter(({ path }) => /^\/objects\/\d+\/id$/.test(path))
  const ids = new Map(renamed.map(({ before: old, id }) => [asText(old), asText(id)]))
  const now = targets.map(id => ids.get(id) ?? id)
  const family = familyOf(now, scenes)
  const named = new Set(scenes.flatMap(scene => namesIn(scene, family)))
  const ofTargets = changes.map(change => {
    const id = idOf(change)
    if (id === undefined) return false
    return change.path.startsWith('/objects/') ? family.has(id) : named.has(id)
  })
  return { changes, truncated, summary, ofTargets }
}

/** The objects and all below them, in any of the scenes. */
function familyOf(targets: readonly string[], scenes: readonly JsonObject[]): ReadonlySet<string> {
  const children = new Map<string, string[]>()
  for (const { id, parent } of scenes.flatMap(objectsOf)) {
    const known = children.get(asText(parent))
    if (known === undefined) children.set(asText(parent), [asText(id)])
    else known.push(asText(id))
  }
  const family = new Set(targets)
  // The set grows while it is gone through; nothing comes twice.
  for (const id of family) for (const child of children.get(id) ?? []) family.add(child)
  return family
}

/** The texts in the members of these objects, as far as they may name an item of another list. */
function namesIn(scene: JsonObject, family: ReadonlySet<string>): readonly string[] {
  const items = objectsOf(scene).filter(({ id }) => family.has(asText(id)))
  return items.flatMap(({ id: _, parent: __, ...members }) =>
    Object.values(members)
      .flat()
      .filter(each => typeof each === 'string'),
  )
}

function objectsOf({ objects }: JsonObject): readonly JsonObject[] {
  return Array.isArray(objects) ? objects.filter(isJsonObject) : []
}

function idOf(change: JsonChange): string | undefined {
  if (change.id !== undefined) return asText(change.id)
  if (!/^\/[^/]+\/\d+$/.test(change.path)) return undefined
  const item = change.after ?? change.before
  return isJsonObject(item) && item.id !== undefined ? asText(item.id) : undefined
}
