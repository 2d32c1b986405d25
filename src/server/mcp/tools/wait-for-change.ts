import { z } from 'zod'
import { longestWaitSeconds } from '../../../lib/mcp/longest-wait.ts'
import { onAbort } from '../../../lib/util/abort.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { JsonObject } from '../../../lib/util/json.ts'
import { type Clock, repeat, type Timer } from '../../../lib/util/time.ts'
import { openNotesUri } from '../../notes/note.ts'
import { detailUri, isOfApplication } from '../../resources/object-detail.ts'
import { checkpointsUri, sceneCurrentUri, sceneDeltaUri } from '../../resources/scene/listing.ts'
import type { ServedResources } from '../../resources/served-resources.ts'
import type { McpLimits } from '../limits.ts'
import type { SubscriptionHub, Topic } from '../subscriptions.ts'
import { defaultChars } from './pages.ts'
import { presenceOf } from './presence.ts'
import { changesSince, goOn, runArgument } from './scene-changes.ts'
import {
  type Caller,
  createTool,
  failedResult,
  textResult,
  type Tool,
  type ToolResult,
} from './tool.ts'
import { isMissing, writtenUri } from './written-uri.ts'

const sceneUris: readonly string[] = [sceneCurrentUri, sceneDeltaUri]
const stopping = 'the server is stopping'

export interface WaitParts {
  readonly registry: ServedResources
  readonly hub: SubscriptionHub
  readonly clock: Clock
  readonly timer: Timer
  readonly limits: McpLimits
  /** What is waited for when the caller names nothing. */
  readonly defaultUris: readonly string[]
  /** Ends each open wait, with a reason. Default: no other tool has any. */
  readonly waits?: Set<(reason: string) => void>
}

/** Waits until a resource changes: subscriptions of the hub and one timer, no polling. */
export class WaitForChange {
  readonly tool: Tool
  readonly #parts: WaitParts
  readonly #registry: ServedResources
  readonly #waits: Set<(reason: string) => void>
  #isStopping = false

  constructor(parts: WaitParts) {
    this.#parts = parts
    this.#registry = parts.registry
    this.#waits = parts.waits ?? new Set()
    this.tool = createTool(definitionFor(parts.defaultUris), (args, caller) =>
      this.#call(args, caller),
    )
  }

  /** Ends every wait: the server stops. */
  close(): void {
    this.#isStopping = true
    for (const end of this.#waits) end(stopping)
  }

  async #call(
    { uris: words = [], since, run, timeout_s: seconds }: z.output<typeof sceneInput>,
    caller: Caller,
  ): Promise<ToolResult> {
    const { defaultUris, limits } = this.#parts
    /** Canonical spelling → the URI that is subscribed to. */
    const uris = new Map<string, string>()
    for (const word of words.length > 0 ? words : defaultUris) {
      const uri = writtenUri(word) ?? detailUri(this.#registry, word) ?? word
      uris.set(this.#assertPushed(uri, caller.reader), uri)
    }
    const now = this.#sceneRevision
    const current = this.#registry.scene?.run
    const isCurrent = (since ?? now) === now && (run ?? current) === current
    if (since !== undefined && !isCurrent && sceneUris.some(uri => uris.has(uri))) {
      return this.#sceneChanged(sceneCurrentUri, since, run)
    }
    if (caller.isBatched) return batchRefused()
    if (this.#isStopping) return this.#unchanged(stopping)
    if (this.#waits.size >= limits.maxWaits) {
      throw new ServiceError('limit_reached', `${limits.maxWaits} calls wait already`, {
        hint: 'read the resource now and then instead',
      })
    }
    const end = await this.#ended(uris, seconds, caller)
    return typeof end === 'string' ? this.#unchanged(end) : this.#changed(end, uris, since ?? now)
  }

  /** What has changed, or why the wait ended without a change. */
  async #ended(
    uris: Map<string, string>,
    seconds: number,
    { reader, progress }: Caller,
  ): Promise<Topic | string> {
    const { hub, timer, clock, limits } = this.#parts
    const { promise, resolve, reject } = Promise.withResolvers<Topic | string>()
    const started = clock.now()
    const isScene = sceneUris.some(uri => uris.has(uri))
    const timeOut = async () => {
      // A scene that the application sends when it is asked to confirm it still counts as a change.
      if (this.#registry.scene?.asOfMs != null) await this.#registry.scene.refreshed()
      resolve(`nothing${isScene ? ' that the scene shows' : ''} changed in ${seconds} s`)
    }
    const report = async () => {
      const elapsed = Math.round((clock.now() - started) / 1000)
      progress?.report(elapsed, seconds, 'waiting for a change')
    }
    const stops = [
      timer.after(seconds * 1000, () => void timeOut()),
      ...(progress === null ? [] : [repeat(timer, limits.waitProgressMs, report)]),
      onAbort(reader?.signal, () => resolve('the caller has left')),
    ]
    const subscriber = { resourceUpdated: resolve, listChanged: () => {} }
    hub.add(subscriber)
    this.#waits.add(resolve)
    try {
      for (const [canonical, uri] of uris) {
        hub.subscribe(subscriber, uri, canonical)?.catch(reject)
        if (isOfApplication(canonical)) this.#assertThere(uri, reader).catch(reject)
      }
      return await promise
    } finally {
      this.#waits.delete(resolve)
      hub.remove(subscriber)
      for (const stop of stops) stop()
    }
  }

  /** Rejects when the application has no such object; it may be too busy to say. */
  async #assertThere(uri: string, reader: Caller['reader']): Promise<void> {
    try {
      await this.#registry.read(uri, reader)
    } catch (error) {
      if (isMissing(error)) throw error
    }
  }

  /** The canonical spelling. Throws for what does not exist or never changes by itself. */
  #assertPushed(uri: string, reader: Caller['reader']): string {
    const canonical = this.#registry.assertSubscribable(uri, reader).replace(/\?.*$/, '')
    const known = [...sceneUris, checkpointsUri]
    if (canonical.startsWith('scene://') && !known.includes(canonical)) {
      throw new ServiceError('resource_not_found', `there is no ${canonical}`, {
        hint: `wait for ${sceneCurrentUri}`,
      })
    }
    if (this.#registry.pushes(uri)) return canonical
    throw new ServiceError('resource_uri_invalid', `${uri} never announces changes`, {
      hint: `read it when needed, or wait for ${this.#parts.defaultUris[0]}`,
    })
  }

  get #sceneRevision(): number | null {
    return this.#registry.scene?.current.revision ?? null
  }

  /** `base`: the revision of the scene that the caller knows; null: the server has none. */
  async #changed(
    { uri, base: canonical }: Topic,
    uris: Map<string, string>,
    base: number | null,
  ): Promise<ToolResult> {
    if (sceneUris.includes(canonical) && base !== null) return this.#sceneChanged(uri, base)
    const isGone = this.#registry.scene?.application?.connected === false
    if (isGone && isOfApplication(canonical)) return this.#unchanged()
    // The scene may have changed, too: the next wait tells it.
    const seen = sceneUris.some(each => uris.has(each)) ? base : this.#sceneRevision
    const tool = canonical === openNotesUri ? 'list_notes' : 'read_resource'
    const line = `changed: ${uri} (${tool} has it)`
    return this.#answer({ changed: true, uris: [uri] }, [line], seen)
  }

  /** `since`: the present revision when only the application came or went. */
  async #sceneChanged(
    uri: string,
    since: number,
    run = this.#registry.scene?.run,
  ): Promise<ToolResult> {
    const found = await changesSince(this.#registry, since, run, defaultChars)
    const { delta, presence, text } = found
    const data = { changed: true, uris: [uri], ...presence?.facts }
    const isSame = run === this.#registry.scene?.run && since === this.#sceneRevision
    if (isSame && presence !== null) return this.#answer(data, [`changed: ${uri}`, presence.line])
    const known = { run: delta.run, revision: delta.revision }
    return textResult(`changed: ${uri}\n${text}`, { ...data, ...known })
  }

  /** Default reason: the application is gone. */
  #unchanged(given?: string): ToolResult {
    const gone = presenceOf(this.#registry.scene)
    const reason = given ?? gone?.line ?? 'the application has left'
    const lines = [`no change: ${reason}`, ...(given && gone ? [gone.line] : [])]
    return this.#answer({ changed: false, reason, ...gone?.facts }, lines)
  }

  /** With the revision from which a next wait goes on, where the server has a scene. */
  #answer(data: JsonObject, lines: readonly string[], revision = this.#sceneRevision): ToolResult {
    if (revision === null) return textResult(lines.join('\n'), data)
    const known = { run: this.#registry.scene?.run, revision }
    return textResult(lines.join('\n') + goOn(known), { ...data, ...known })
  }
}

/** The other answers of a batch would wait, too. */
export function batchRefused(): ToolResult {
  return failedResult('argument_invalid', 'a batch cannot wait: send this call alone')
}

/** Where one scene is waited for. */
export const sinceArguments = {
  since: z.int().min(0).describe('revision seen last: a newer scene answers at once').optional(),
  run: runArgument,
}

const sceneInput = z.strictObject({
  uris: z.array(z.string()).max(20).describe('resources or objects to wait for').optional(),
  ...sinceArguments,
  timeout_s: z.int().min(1).max(longestWaitSeconds).describe('seconds to wait at most').default(30),
})

function definitionFor(defaultUris: readonly string[]) {
  const isScene = defaultUris.includes(sceneCurrentUri)
  const what = isScene ? 'the user edits the scene' : 'the list of instances changes'
  const note = defaultUris.includes(openNotesUri) ? ', a person makes a note' : ''
  const goOn = isScene
    ? ', with the revision (since) and run of the answer before, so that nothing is missed. Only what the ' +
      'scene shows counts: for more of one object name it in uris'
    : ''
  return {
    name: 'wait_for_change',
    title: 'Wait for a change',
    description:
      `Wait until ${what}${note} or another resource changes (uris; absent: ` +
      `${defaultUris.join(' and ')}), at most ${longestWaitSeconds} s, and notify you of what ` +
      `changed. Call it again to go on waiting${goOn}.`,
    searchHint: 'notify when the user edits, wait for the artist, watch, monitor, subscribe, poll',
    input: isScene ? sceneInput : sceneInput.omit({ since: true, run: true }),
  }
}
