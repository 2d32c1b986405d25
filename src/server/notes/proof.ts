import type { NoteProof } from '../../lib/mcp/note-proof.ts'
import { isJsonObject, type JsonObject } from '../../lib/util/json.ts'
import { describeChanges, type SceneChange } from '../../lib/mcp/change-words.ts'

/** Of each of the two lists. */
const maxLines = 30
const maxLineChars = 300

/** Where a person looks, what they select, and how much is listed is no change of the document. */
const ofPerson =
  /^\/(selection|viewport|document\/modified|time\/playing|truncated\/limit|objects\/\d+\/selected)(\/|$)/

/**
 * Splits changes into those of the objects that a note is about and all others. What belongs to an
 * object: its children, and items of other lists that it names, such as its materials.
 */
export function splitChanges(
  changes: readonly SceneChange[],
  targets: readonly string[],
  scenes: readonly JsonObject[],
): Pick<NoteProof, 'asked' | 'also_changed' | 'more'> {
  const family = familyOf(targets, scenes)
  const named = new Set(scenes.flatMap(scene => namesIn(scene, family)))
  const isAsked = (change: SceneChange): boolean => {
    const id = idOf(change)
    if (id === undefined) return false
    return change.path.startsWith('/objects/') ? family.has(id) : named.has(id)
  }
  const ofDocument = changes.filter(({ path }) => !ofPerson.test(path))
  const asked = describeChanges(ofDocument.filter(isAsked))
  const others = describeChanges(ofDocument.filter(change => !isAsked(change)))
  const more = Math.max(0, asked.length - maxLines) + Math.max(0, others.length - maxLines)
  return { asked: cut(asked), also_changed: cut(others), ...(more > 0 && { more }) }
}

function cut(lines: readonly string[]): readonly string[] {
  const short = (line: string) =>
    line.length > maxLineChars ? `${line.slice(0, maxLineChars)}…` : line
  return lines.slice(0, maxLines).map(line => short(line).toWellFormed())
}

/** The objects and all below them, in any of the scenes. */
function familyOf(targets: readonly string[], scenes: readonly JsonObject[]): ReadonlySet<string> {
  const children = new Map<string, string[]>()
  for (const { id, parent } of scenes.flatMap(objectsOf)) {
    const known = children.get(String(parent))
    if (known === undefined) children.set(String(parent), [String(id)])
    else known.push(String(id))
  }
  const family = new Set(targets)
  // The set grows while it is gone through; nothing comes twice.
  for (const id of family) for (const child of children.get(id) ?? []) family.add(child)
  return family
}

/** The texts in the members of these objects, as far as they may name an item of another list. */
function namesIn(scene: JsonObject, family: ReadonlySet<string>): readonly string[] {
  const items = objectsOf(scene).filter(({ id }) => family.has(String(id)))
  return items.flatMap(({ id: _, parent: __, ...members }) =>
    Object.values(members).flatMap(value =>
      (Array.isArray(value) ? value : [value]).filter(isText),
    ),
  )
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function objectsOf({ objects }: JsonObject): readonly JsonObject[] {
  return Array.isArray(objects) ? objects.filter(isJsonObject) : []
}

function idOf(change: SceneChange): string | undefined {
  if (change.id !== undefined) return String(change.id)
  if (!/^\/[^/]+\/\d+$/.test(change.path)) return undefined
  const item = 'after' in change ? change.after : change.before
  return isJsonObject(item) && item.id !== undefined ? String(item.id) : undefined
}
