import { type ReadonlySignal, signal } from '@preact/signals'
import { dataKey, liveAppKey } from '../../src/lib/mcp/call-meta.ts'
import { pause } from '../../src/lib/util/time.ts'
import { timer } from '../live/refresh.ts'
import { type Carrier, type Connection, type Content, Followers, McpError } from '../mcp/carrier.ts'
import { stayConnected } from '../mcp/connection.ts'
import type { Bridge } from './bridge.ts'

/** The most that the server gives in one slice. */
const sliceChars = 200_000
/** Short, so that a chat that has lost the server without saying so is found out soon. */
const waitSeconds = 20
/** Between the starts of two waits: a dragged object changes at each frame. */
const minTurnMs = 250
const sceneUri = 'scene://current'
const notesUri = 'notes://open'

interface ToolResult {
  readonly content: readonly ToolContent[]
  readonly structuredContent?: Readonly<Record<string, unknown>>
  readonly isError?: boolean
}

interface ToolContent extends Omit<Content, 'uri' | 'blob'> {
  readonly data?: string
}

/** What a wait has found. */
interface Turn {
  readonly isNewScene: boolean
  /** Of the scene; the next wait goes on from it. */
  readonly run: unknown
  readonly revision: unknown
}

/**
 * Reads and follows through the tools of the server, which the host of a chat calls for the view:
 * hosts pass on no updates of resources, and not all of them read resources. While the view is not
 * shown, nothing is asked for.
 */
export function createBridgeCarrier(bridge: Bridge, isShown: ReadonlySignal<boolean>): Carrier {
  const connection = signal<Connection>({ kind: 'connecting' })
  const schemes = signal<ReadonlySet<string>>(new Set())
  const followers = new Followers()

  async function call(name: string, args: object, signal?: AbortSignal): Promise<ToolResult> {
    if (!isShown.peek()) throw new Error('the view is hidden')
    const params = { name, arguments: args, _meta: { [liveAppKey]: true, [dataKey]: true } }
    const result = (await bridge.request('tools/call', params, signal)) as unknown as ToolResult
    if (result.isError !== true) return result
    const [first] = result.content
    throw new McpError((first?.text ?? 'the call failed').replace(/^[a-z_]+: /, ''), 200)
  }

  async function read(uri: string): Promise<Content> {
    let text = ''
    for (;;) {
      const args = { uri, offset: text.length, max_chars: sliceChars }
      const { content } = await call('read_resource', args)
      const [part] = content
      if (part === undefined) throw new Error(`${uri} has no content`)
      const { mimeType, data, _meta } = part
      if (mimeType !== undefined && data !== undefined) return { uri, mimeType, blob: data }
      const more = part.text ?? ''
      text += more
      // A slice is one shorter where it would cut a character in two.
      if (more.length < sliceChars - 1) return { uri, text, ...(_meta && { _meta }) }
    }
  }

  async function servedSchemes(signal: AbortSignal): Promise<ReadonlySet<string>> {
    // In words, because not all chats pass on that data is asked for. Templates come first.
    const { content } = await call('list_resources', {}, signal)
    const uris = content[0]?.text?.matchAll(/^([a-z][a-z0-9+.-]*):/gm) ?? []
    return new Set(Array.from(uris, ([, scheme = '']) => scheme))
  }

  async function wait(known: Pick<Turn, 'run' | 'revision'>, signal: AbortSignal): Promise<Turn> {
    const { run, revision: since } = known
    const args = { ...(since !== undefined && { since, run }), timeout_s: waitSeconds }
    const { structuredContent = {} } = await call('wait_for_change', args, signal)
    const { changed, uris, run: newRun, revision } = structuredContent
    const isOfScene = !Array.isArray(uris) || uris.includes(sceneUri)
    return { isNewScene: changed !== false && isOfScene, run: newRun, revision }
  }

  /** Follows until the chat or the server fails, or `signal` is aborted. */
  async function follow(signal: AbortSignal): Promise<never> {
    // No server has this run: answered at once, which shows that waiting works.
    let turn = await wait({ run: 'none', revision: 0 }, signal)
    schemes.value = await servedSchemes(signal)
    connection.value = { kind: 'live' }
    for (;;) {
      const startedMs = performance.now()
      const next = wait(turn, signal)
      // Only now: what changed before the wait began is read, what changes later ends the wait.
      if (turn.isNewScene) followers.notify(sceneUri)
      // Notes have no revision by which the wait could know of earlier changes.
      followers.notify(notesUri)
      turn = await next
      await pause(timer, minTurnMs - (performance.now() - startedMs), signal)
    }
  }

  stayConnected(connection, () => isShown.value, follow)

  return {
    connection,
    schemes,
    read,
    list: () => Promise.reject(new Error('a chat shows no files')),
    follow: (uri, changed) => followers.add(uri, changed),
  }
}
