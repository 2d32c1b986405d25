import { createHash } from 'node:crypto'
import { counted, sizeText } from '../../util/amounts.ts'
import { ServiceError } from '../../util/errors.ts'
import { numberOf, parseExact } from '../../util/exact-json.ts'
import { diffJson } from '../json-diff.ts'
import { arrayOf, exceedsDepth, isJsonObject, type JsonObject } from '../../util/json.ts'
import { asText, cleanText } from '../../util/text.ts'
import { deltaText, describeChanges } from '../change-words.ts'
import type { Contents } from './ask.ts'
import { applicationOf, isJsonType, sceneOf, staleReason } from './resources.ts'

export type Read = (uri: string) => Promise<readonly Contents[]>

/** What changed, in words and for programs. */
export interface News {
  readonly lines: readonly string[]
  readonly facts: JsonObject
}

/** A resource as it is at first. */
interface Seen {
  /** `revision 12, 5 members` */
  readonly text: string
  readonly facts: JsonObject
  /** What was there before. */
  readonly news?: News | null
}

/** Finds what changed in a resource between two reads. Both reject as `read` does. */
export interface Follower {
  start(read: Read): Promise<Seen>
  /** Null: nothing that an earlier read did not find. */
  look(read: Read): Promise<News | null>
}

interface State extends Seen {
  readonly kind: 'missing' | 'json' | 'text' | 'bytes'
  /** The JSON value, the text, or the digest of the bytes. */
  readonly value?: unknown
  /** Of a scene: its number, and the run of the server that counts it. */
  readonly revision?: unknown
  readonly run?: unknown
  /** The application of a scene is gone, in words. */
  readonly gone?: string | null
}

const missing: State = { kind: 'missing', text: 'does not exist now', facts: { missing: true } }
const maxChanges = 1000
const maxDepth = 200
/** Characters of the words, and of the changes beside them. */
const maxChars = 20_000

/** Follows the scene by its deltas, anything else by reading all of it. */
export function createFollower(uri: string): Follower {
  const isScene = /^scene:\/\/(?:current$|delta(?:\?|$))/.test(uri)
  let last = missing
  return {
    start: async read => (last = stateOf(await read(uri))),
    async look(read) {
      const before = last
      const { run, revision } = before
      if (isScene && revision !== undefined) {
        last = stateOf(await read(`scene://delta?since=${asText(revision)}&run=${asText(run)}`))
        return sceneNews(before, last)
      }
      last = await read(uri).then(stateOf, (error: unknown) => {
        if (error instanceof ServiceError && error.code === 'resource_not_found') return missing
        throw error
      })
      if (before.kind !== last.kind) return { lines: [last.text], facts: last.facts }
      return /^audit:\/\/recent/i.test(uri) ? newEntries(before, last) : newsOf(before, last)
    },
  }
}

function sceneNews(before: State, { run, revision, gone, value, facts }: State): News | null {
  const isBack = before.gone != null && gone == null
  const line = isBack ? 'the application is connected again' : before.gone == null ? gone : null
  const known = isBack ? { ...facts, application: { connected: true } } : facts
  if (run === before.run && revision === before.revision)
    return line == null ? null : { lines: [line], facts: known }
  const delta = isJsonObject(value) ? value : {}
  const isFirst = hasNoScene(before.value) && !hasNoScene(value)
  const [head = '', ...rest] = deltaText(delta, line == null ? null : { line }, maxChars).split(
    '\n',
  )
  // The sum of all that is new tells nothing of a scene that was not there.
  const shown = isFirst && delta.truncated === true ? [] : rest
  return {
    lines: [isFirst ? `revision ${asText(revision)}: the scene came` : head, ...shown],
    facts: { base_revision: before.revision, ...known, ...shownChanges(delta) },
  }
}

/** What stands for a scene before one is sent, and after it is withdrawn. */
function hasNoScene(value: unknown): boolean {
  return isJsonObject(value) && value.status === 'no_snapshot'
}

function newsOf(before: State, { kind, value, text, facts }: State): News | null {
  if (kind === 'json') {
    const found = diffJson(before.value, value, { maxChanges })
    const lines = [...describeChanges(found.changes), ...(found.truncated ? ['… and more'] : [])]
    return lines.length === 0 ? null : { lines, facts: { ...facts, ...shownChanges({ ...found }) } }
  }
  if (before.value === value) return null
  if (kind !== 'text') return { lines: [text], facts }
  const [old, now] = [before.value, value].map(each => new Set(asText(each).split('\n')))
  const lines = [
    ...Array.from(old!.difference(now!), line => `- ${line}`),
    ...Array.from(now!.difference(old!), line => `+ ${line}`),
  ]
  return { lines: lines.length === 0 ? [text] : lines, facts }
}

function shownChanges({ changes, truncated }: JsonObject): JsonObject {
  let chars = 0
  const all = arrayOf(changes)
  const shown = all.filter(change => (chars += JSON.stringify(change).length) <= maxChars)
  return { changes: shown, truncated: truncated === true || shown.length < all.length }
}

/** Of a log, whose oldest entries go as others come. They count up from 1. */
function newEntries(before: State, { value, facts }: State): News | null {
  const [old, now] = [before.value, value].map(log =>
    arrayOf(isJsonObject(log) ? log.entries : null).filter(isJsonObject),
  )
  const idOf = (entry: JsonObject | undefined) => numberOf(entry?.id) ?? 0
  const known = idOf(old!.at(-1))
  const entries = now!.filter(entry => idOf(entry) > known)
  if (entries.length === 0) return null
  const missed = idOf(entries[0]) - known - 1
  const lines = entries.map(({ id: _, timestamp: __, action, ...more }) =>
    cleanText(`${asText(action)} ${JSON.stringify(more)}`),
  )
  if (missed > 0) lines.unshift(`… ${missed} earlier entries left out`)
  return { lines, facts: { ...facts, entries, missed } }
}

function stateOf([only, ...others]: readonly Contents[]): State {
  if (only === undefined) return missing
  if (others.length > 0) {
    const text = counted(others.length + 1, 'content')
    return { kind: 'bytes', value: JSON.stringify([only, ...others]), text, facts: {} }
  }
  if (only.kind === 'binary') {
    const { bytes, mimeType: mime } = only
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    const text = `${sizeText(bytes.length)} of ${cleanText(mime ?? 'binary data', 80)}`
    return { kind: 'bytes', value: sha256, text, facts: { mime, size_bytes: bytes.length, sha256 } }
  }
  const { text, mimeType, meta } = only
  const value = isJsonType(mimeType) ? parsed(text) : undefined
  if (value === undefined) {
    return { kind: 'text', value: text, text: counted(text.split('\n').length, 'line'), facts: {} }
  }
  const { run, revision } = sceneOf(meta)
  const { connected, since } = applicationOf(meta)
  const gone = connected === false ? staleReason(meta) : null
  const words = [
    ...(revision === undefined ? [] : [`revision ${asText(revision)}`]),
    sizeOf(value),
    ...(gone === null ? [] : [gone]),
  ]
  const application = gone === null ? {} : { application: { connected, since } }
  const facts = { ...(revision !== undefined && { run, revision }), ...application }
  return { kind: 'json', value, run, revision, gone, text: words.join(', '), facts }
}

function parsed(text: string): unknown {
  if (exceedsDepth(text, maxDepth)) return undefined
  try {
    const value = parseExact(text)
    if (!isJsonObject(value) || !Array.isArray(value.instances)) return value
    // Instances of a gateway have other names for these.
    const rows = value.instances.filter(isJsonObject)
    const known = rows.map(row => ({ id: row.instance_id, name: row.display_name, ...row }))
    return { ...value, instances: known }
  } catch {
    return undefined
  }
}

function sizeOf(value: unknown): string {
  if (Array.isArray(value)) return counted(value.length, 'element')
  if (!isJsonObject(value)) return cleanText(asText(value), 60)
  return value.status === 'no_snapshot' ? 'no scene' : counted(Object.keys(value).length, 'member')
}
