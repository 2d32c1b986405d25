import { finiteJsonText } from './finite-json.ts'
import { MemberReader } from './member-reader.ts'
import { escapePointer, exceedsDepth, isJsonObject } from '../util/json.ts'
import type { ScenePatch } from './scene-objects.ts'

/** What changes in the scene; see `patchScene`. */
export interface ScenePatchInput {
  readonly objects?: readonly { readonly id: string; readonly [member: string]: unknown }[]
  readonly removed?: readonly string[]
  readonly members?: Readonly<Record<string, unknown>>
  readonly unset?: readonly string[]
}

const maxIdChars = 255

/** Throws `TypeError` for what is no patch of a scene of so many levels. */
export function scenePatch(input: ScenePatchInput, maxDepth: number): ScenePatch {
  const reader = new MemberReader(input, '')
  const read = reader.finish(readScenePatch(reader))
  if (!read.ok) throw new TypeError(`${read.failure.pointer} ${read.failure.detail}`.trimStart())
  const deeper = (texts: ReadonlyMap<string, string>, levels: number) =>
    [...texts.values()].some(text => exceedsDepth(text, levels))
  // Around an object there are the scene and its list.
  if (deeper(read.value.objects, maxDepth - 2) || deeper(read.value.members, maxDepth - 1)) {
    throw new TypeError(`the scene is nested deeper than ${maxDepth} levels`)
  }
  return read.value
}

/** Reads the members of a patch. What is wrong stays with the reader; then the result is void. */
export function readScenePatch(reader: MemberReader): ScenePatch {
  const objects = new Map<string, string>()
  for (const [at, object] of listOf(reader, 'objects').entries()) {
    const pointer = `/objects/${at}`
    if (!isJsonObject(object) || !isObjectId(object.id)) {
      const detail = `must be an object with an "id" of 1 to ${maxIdChars} characters`
      reader.inherit({ pointer, detail })
      break
    }
    if (objects.has(object.id)) reader.inherit({ pointer, detail: 'has an id that came before' })
    objects.set(object.id, jsonText(reader, pointer, object))
  }
  const removed = textsOf(reader, 'removed')
  if (removed.some(id => objects.has(id))) reader.refuse('removed', 'has an id that "objects" has')
  const given = reader.any('members')
  if (given !== undefined && !isJsonObject(given)) reader.refuse('members', 'must be an object')
  const members = new Map(
    Object.entries(isJsonObject(given) ? given : {}).map(([name, value]) => [
      name,
      jsonText(reader, `/members/${escapePointer(name)}`, value),
    ]),
  )
  const unset = textsOf(reader, 'unset')
  if (members.has('objects') || unset.includes('objects')) {
    reader.refuse('members', 'must not have "objects"; these have a list of their own')
  }
  if (unset.some(name => members.has(name))) reader.refuse('unset', 'has a name of "members"')
  const isEmpty = objects.size + removed.length + members.size + unset.length === 0
  // A misspelt member is named first.
  if (isEmpty && reader.failure === null) {
    reader.refuse(null, 'has none of objects, removed, members and unset')
  }
  return { objects, removed, members, unset }
}

function isObjectId(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= maxIdChars
}

function listOf(reader: MemberReader, name: string): readonly unknown[] {
  const value = reader.any(name)
  if (value === undefined) return []
  return Array.isArray(value) ? value : (reader.refuse(name, 'must be an array') ?? [])
}

function textsOf(reader: MemberReader, name: string): readonly string[] {
  const texts = listOf(reader, name).filter(text => typeof text === 'string')
  if (texts.length !== listOf(reader, name).length) reader.refuse(name, 'must be an array of texts')
  if (new Set(texts).size !== texts.length) reader.refuse(name, 'has a text twice')
  return texts
}

function jsonText(reader: MemberReader, pointer: string, value: unknown): string {
  try {
    const text = finiteJsonText(value)
    if (typeof text === 'string') return text
  } catch {
    // Said below.
  }
  reader.inherit({ pointer, detail: 'has a value without a JSON form' })
  return 'null'
}
