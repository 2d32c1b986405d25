import { createHash } from 'node:crypto'
import { counted, sizeText } from '../../util/amounts.ts'
import { ServiceError } from '../../util/errors.ts'
import { numberOf, parseExact } from '../../util/exact-json.ts'
import { arrayOf, isJsonObject, type JsonObject, parseJson } from '../../util/json.ts'
import { asText, cleanText } from '../../util/text.ts'
import { deltaText, describeChanges } from '../change-words.ts'
import { diffJson } from '../json-diff.ts'
import { applicationOf, type Contents, isJsonType, sceneOf, staleReason } from './resources.ts'

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
  /** Of a scene: the delta since then. Its revisions are those of one run of the server. */
  readonly deltaUri?: string
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
      if (isScene && before.deltaUri !== undefined) {
        last = stateOf(await read(before.deltaUri))
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

function sceneNews(before: State, { deltaUri, gone, value, facts }: State): News | null {
  const isBack = before.gone != null && gone == null
  const line = isBack ? 'the application is connected again' : before.gone == null ? gone : null
  const known = isBack ? { ...facts, application: { connected: true } } : facts
  if (deltaUri === before.deltaUri) return line == null ? null : { lines: [line], facts: known }
  const delta = isJsonObject(value) ? value : {}
  return {
    lines: deltaText(delta, line == null ? null : { line }, maxChars).split('\n'),
    facts: { base_revision: before.facts.revision, ...known, ...shownChanges(delta) },
  }
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
  const entriesOf = (log: unknown) =>
    arrayOf(isJsonObject(log) ? log.entries : null).filter(isJsonObject)
  const idOf = (entry: JsonObject | undefined) => numberOf(entry?.id) ?? 0
  const known = idOf(entriesOf(before.value).at(-1))
  const entries = entriesOf(value).filter(entry => idOf(entry) > known)
  if (entries.length === 0) return null
  const missed = idOf(entries[0]) - known - 1
  const lines = entries.map(({ id: _, timestamp: __, action, ...more }) =>
    cleanText(`${asText(action)} ${JSON.stringify(more)}`),
  )
  if (missed > 0) lines.unshift(`… ${missed} earlier entries left out`)
  return { lines, facts: { ...facts, entries, missed } }
}

/** Only the first contents of a resource are followed. */
function stateOf([first]: readonly Contents[]): State {
  if (first === undefined) return missing
  const { content: text, mimeType: mime, meta } = first
  if (typeof text !== 'string') {
    const sha256 = createHash('sha256').update(text).digest('hex')
    const words = `${sizeText(text.length)} of ${cleanText(mime ?? 'binary data', 80)}`
    const facts = { mime, size_bytes: text.length, sha256 }
    return { kind: 'bytes', value: sha256, text: words, facts }
  }
  const parsed = isJsonType(mime) ? parseJson(text, maxDepth, parseExact) : null
  if (!parsed?.ok) {
    return { kind: 'text', value: text, text: counted(text.split('\n').length, 'line'), facts: {} }
  }
  const value = withNames(parsed.value)
  const scene = sceneOf(meta)
  const { run, revision } = scene
  const { connected, since } = applicationOf(scene)
  const gone = connected === false ? staleReason(meta) : null
  const words = [sizeOf(value)]
  if (revision !== undefined) words.unshift(`revision ${asText(revision)}`)
  if (gone !== null) words.push(gone)
  const facts = {
    ...(revision !== undefined && { run, revision }),
    ...(gone !== null && { application: { connected, since } }),
  }
  const deltaUri =
    revision === undefined
      ? undefined
      : `scene://delta?since=${asText(revision)}&run=${asText(run)}`
  return { kind: 'json', value, deltaUri, gone, text: words.join(', '), facts }
}

/** Instances of a gateway have other names for `id` and `name`. */
function withNames(value: unknown): unknown {
  if (!isJsonObject(value) || !Array.isArray(value.instances)) return value
  const rows = value.instances.filter(isJsonObject)
  const instances = rows.map(row => ({ id: row.instance_id, name: row.display_name, ...row }))
  return { ...value, instances }
}

function sizeOf(value: unknown): string {
  if (Array.isArray(value)) return counted(value.length, 'element')
  if (!isJsonObject(value)) return cleanText(asText(value), 60)
  return value.status === 'no_snapshot' ? 'no scene' : counted(Object.keys(value).length, 'member')
}
