import { isDeepStrictEqual } from 'node:util'
import { sizeText } from '../../util/amounts.ts'
import { parseExact, numberOf } from '../../util/exact-json.ts'
import { arrayOf, isJsonObject, type JsonObject, parseJson } from '../../util/json.ts'
import { asText, cleanText } from '../../util/text.ts'
import { deltaLines, deltaText } from '../change-words.ts'
import { diffJson } from '../json-diff.ts'
import { applicationOf, type Contents, isJsonType, sceneOf, staleReason } from './resources.ts'
import { parseText } from '../bridge/rpc.ts'

export type Read = (uri: string) => Promise<readonly Contents[]>

/** Finds what changed in a resource between two reads. Both reject as `read` does. */
export interface Follower {
  /** Begins at one run of the server. `text`: `revision 12, 5 members` */
  start(read: Read): Promise<{ readonly text: string; readonly facts: JsonObject }>
  /** What changed, in words and for programs; null: nothing that an earlier read did not find. */
  look(read: Read): Promise<Update | null>
}

interface Update {
  readonly lines: readonly string[]
  readonly facts: JsonObject
}

interface State {
  readonly text: string
  readonly facts: JsonObject
  readonly isJson: boolean
  /** The JSON value, the text or the bytes. */
  readonly value: unknown
  /** Of a scene: the query of the delta since then. Revisions are those of one run of the server. */
  readonly since?: string
  /** The application of a scene is gone, in words. */
  readonly gone?: string
}

const maxChanges = 1000
const maxDepth = 200
/** Characters of the words, and of the changes beside them. */
const maxChars = 20_000

/** A scene at its server, or at a gateway. */
const sceneUri = /^(scene:\/\/|instance:\/\/[^/]+\/scene\/)current$/

/** Follows a scene by its deltas, anything else by reading all of it. */
export function createFollower(uri: string): Follower {
  const [, place] = sceneUri.exec(uri) ?? []
  let last = stateOf([])
  return {
    start: async read => (last = stateOf(await read(uri))),
    async look(read) {
      const before = last
      const { since } = before
      const isDelta = place !== undefined && since !== undefined
      last = stateOf(await read(isDelta ? `${place}delta?${since}` : uri))
      return isDelta ? sceneUpdate(before, last) : updateOf(before, last)
    },
  }
}

function sceneUpdate(before: State, { since, gone, value, facts }: State): Update | null {
  const isBack = before.gone !== undefined && gone === undefined
  const left = before.gone === undefined ? gone : undefined
  const line = isBack ? 'the application is connected again' : left
  if (since === before.since) return line === undefined ? null : { lines: [line], facts }
  const delta = isJsonObject(value) ? value : {}
  return {
    lines: deltaText(delta, line === undefined ? null : { line }, maxChars).split('\n'),
    facts: { base_revision: before.facts.revision, ...facts, ...shownChanges(delta) },
  }
}

function updateOf(before: State, { isJson, value, text, facts }: State): Update | null {
  if (isJson && before.isJson) {
    const found = diffJson(before.value, value, { maxChanges })
    const delta = { changes: found.changes, truncated: found.truncated }
    const lines = deltaLines(delta)
    return lines.length === 0 ? null : { lines, facts: { ...facts, ...shownChanges(delta) } }
  }
  return isDeepStrictEqual(before.value, value) ? null : { lines: [text], facts }
}

function shownChanges({ changes, truncated }: JsonObject): JsonObject {
  let chars = 0
  const all = arrayOf(changes)
  const shown = all.filter(change => (chars += JSON.stringify(change).length) <= maxChars)
  return { changes: shown, truncated: truncated === true || shown.length < all.length }
}

/** Only the first contents of a resource are followed. */
function stateOf([first]: readonly Contents[]): State {
  const { content = '', mimeType: mime = null, meta = {} } = first ?? {}
  const size_bytes = Buffer.byteLength(content)
  const text = `${sizeText(size_bytes)} of ${cleanText(mime ?? 'data', 80)}`
  const isText = typeof content === 'string' && isJsonType(mime)
  const parsed = isText ? parseJson(content, maxDepth, parseExact) : null
  if (!parsed?.ok) return { isJson: false, value: content, text, facts: { mime, size_bytes } }
  const value = withNames(parsed.value)
  const scene = sceneOf(meta)
  const { run, revision } = scene
  if (revision === undefined) return { isJson: true, value, text, facts: {} }
  const isGone = applicationOf(scene).connected === false
  const gone = (isGone ? staleReason(meta) : null) ?? undefined
  return {
    isJson: true,
    value,
    since: `since=${asText(revision)}&run=${asText(run)}`,
    gone,
    text: `revision ${asText(revision)}, ${gone ?? text}`,
    facts: { run, revision },
  }
}

/** Instances of a gateway have other names for `id` and `name`. */
function withNames(value: unknown): unknown {
  if (!isJsonObject(value) || !Array.isArray(value.instances)) return value
  const rows = value.instances.filter(isJsonObject)
  const instances = rows.map(row => ({ id: row.instance_id, name: row.display_name, ...row }))
  return { ...value, instances }
}

/** Past events shown first, as `tail -f` does. */
const shownAtStart = 10
/** Largest page of events that a server returns. */
const pageEvents = 1000

/**
 * Follows `audit://recent`, or `events://session/<id>` from the `cursor` of the URI on. Their
 * entries count up from 1 in each run of the server; each is shown once.
 */
export function createLogFollower(uri: string): Follower {
  const url = new URL(uri)
  const { searchParams: query } = url
  const member = url.protocol === 'events:' ? 'events' : 'entries'
  /** The newest entry that was shown. */
  let known = query.has('cursor') ? Number(query.get('cursor')) : null

  async function pageAfter(read: Read, cursor: number) {
    if (member === 'events') {
      query.set('cursor', String(cursor))
      query.set('limit', String(pageEvents))
    }
    const [first] = await read(url.href)
    const value = parseText(asText(first?.content))
    const page = isJsonObject(value) ? value : {}
    const entries = arrayOf(page[member]).filter(isJsonObject)
    return { entries, newest: numberOf(page.newest_cursor) || idOf(entries.at(-1)) }
  }

  return {
    async start(read) {
      const { newest } = await pageAfter(read, known ?? 0)
      known ??= member === 'events' ? Math.max(0, newest - shownAtStart) : newest
      return { text: `${newest} ${member} so far`, facts: {} }
    },
    async look(read) {
      let last = known ?? 0
      const page = await pageAfter(read, last)
      const restarted = page.newest < last
      if (restarted) last = 0
      const entries = page.entries.filter(entry => idOf(entry) > last)
      known = idOf(entries.at(-1)) || last
      const lines = entries.map(member === 'events' ? eventLine : auditLine)
      const missed = entries.length === 0 ? 0 : idOf(entries[0]) - last - 1
      if (missed > 0) lines.unshift(`… ${missed} earlier ${member} left out`)
      if (restarted) lines.unshift(`${member} are missing: the server has restarted`)
      return lines.length === 0 ? null : { lines, facts: { [member]: entries, missed, restarted } }
    },
  }
}

function idOf(entry: JsonObject | undefined): number {
  return numberOf(entry?.id) ?? 0
}

function auditLine({ id: _, timestamp: __, action, ...more }: JsonObject): string {
  return cleanText(`${asText(action)} ${JSON.stringify(more)}`)
}

/** `20:39:09  warning  bpy/stderr  the message` */
function eventLine({ timestamp, level, source, stream, message }: JsonObject): string {
  const time = new Date(asText(timestamp))
  const clock = Number.isNaN(time.getTime()) ? '--:--:--' : time.toTimeString().slice(0, 8)
  const from = [source, stream].map(word => cleanText(asText(word), 40)).join('/')
  const kind = cleanText(asText(level), 10).padEnd(7)
  return [clock, kind, from, cleanText(asText(message), 4096)].join('  ')
}
