import { z } from 'zod'
import { isJsonObject, type JsonObject, wellFormedJson } from '../util/json.ts'
import { must } from './check.ts'
import { warningsOf } from './read-json.ts'
import type { ScenePatch } from './scene-objects.ts'

const maxIdChars = 255

type PatchedObjects = readonly { readonly id: string; readonly [member: string]: unknown }[]

/**
 * zod sees the lists alone. Of 100,000 objects (12 MB, 60 ms to parse as JSON) it would copy each
 * one, in 36 ms, without a member `__proto__`; the pass below takes 1 ms.
 */
const names = z
  .array(z.string(), must('be an array of texts'))
  .refine(texts => new Set(texts).size === texts.length, 'has a text twice')
  .nullish()
  .transform(texts => texts ?? [])

export const patchMembers = {
  objects: z.custom<PatchedObjects>(Array.isArray, must('be an array')).nullish(),
  removed: names,
  members: z.custom<JsonObject>(isJsonObject, must('be an object')).nullish(),
  unset: names,
}

const patchForm = z.object(patchMembers)

/** What changes in the scene: whole objects, ids, other members of the scene, names of members. */
export type ScenePatchInput = z.input<typeof patchForm>

export const scenePatch = patchForm.transform(patchTexts)

/** The same with texts of JSON in place of the values. */
export function patchTexts(
  { objects, removed, members, unset }: z.output<typeof patchForm>,
  context: z.RefinementCtx,
): ScenePatch {
  const refuse = (path: (string | number)[], message: string) =>
    context.addIssue({ code: 'custom', path, message })
  const textOf = (path: (string | number)[], value: unknown): string => {
    const text: unknown = JSON.stringify(value)
    if (typeof text === 'string') return wellFormedJson(text)
    refuse(path, 'has a value without a JSON form')
    return 'null'
  }
  const texts = new Map<string, string>()
  for (const [at, object] of (objects ?? []).entries()) {
    const id: unknown = isJsonObject(object) ? object.id : undefined
    if (typeof id !== 'string' || id === '' || id.length > maxIdChars) {
      refuse(['objects', at], `must be an object with an "id" of 1 to ${maxIdChars} characters`)
      break
    }
    if (texts.has(id)) refuse(['objects', at], 'has an id that came before')
    texts.set(id, textOf(['objects', at], object))
  }
  const others = new Map(
    Object.entries(members ?? {}).map(([name, value]) => [name, textOf(['members', name], value)]),
  )
  if (removed.some(id => texts.has(id))) refuse(['removed'], 'has an id that "objects" has')
  if (others.has('objects') || unset.includes('objects')) {
    refuse(['members'], 'must not have "objects"; these have a list of their own')
  }
  if (unset.some(name => others.has(name))) refuse(['unset'], 'has a name of "members"')
  if (texts.size + removed.length + others.size + unset.length === 0) {
    refuse([], 'has none of objects, removed, members and unset')
  }
  const hasNull = [...texts.values(), ...others.values()].some(text => text.includes('null'))
  const warnings = hasNull ? warningsOf([objects, members]) : []
  return { objects: texts, removed, members: others, unset, warnings }
}
