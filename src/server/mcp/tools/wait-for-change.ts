import { z } from 'zod'
import { longestWaitSeconds } from '../../../lib/mcp/longest-wait.ts'
import { onAbort } from '../../../lib/util/abort.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { JsonObject } from '../../../lib/util/json.ts'
import { repeat } from '../../../lib/util/time.ts'
import { openNotesUri } from '../../notes/note.ts'
import { detailUri, isOfApplication } from '../../resources/object-detail.ts'
import type { Reader } from '../../resources/producer.ts'
import { sceneCurrentUri, sceneDeltaUri } from '../../resources/scene/listing.ts'
import type { ServedResources } from '../../resources/served-resources.ts'
import type { Topic } from '../subscriptions.ts'
import { defaultChars } from './pages.ts'
import { presenceOf } from './presence.ts'
import { changesSince, continueHint, runArgument } from './scene-changes.ts'
import {
  type Caller,
  createTool,
  textResult,
  type Tool,
  type ToolParts,
  type ToolResult,
} from './tool.ts'
import { isNotFound, writtenUri } from './written-uri.ts'

const sceneUris: readonly string[] = [sceneCurrentUri, sceneDeltaUri]
export const stopping = 'the server is stopping'

/**
 * Waits until a resource changes: subscriptions of the hub and one timer, no polling. `defaultUris`:
 * what is waited for when the caller names nothing.
 */
export function waitForChange(defaultUris: readonly string[]): Tool {
  return createTool({
    ...definitionFor(defaultUris),
    async call({ uris: words = [], since, run, timeout_s: seconds }, caller, parts) {
      const { registry } = parts
      /** Canonical spelling → the URI that is subscribed to. */
      const uris = new Map<string, string>()
      for (const word of words.length > 0 ? words : defaultUris) {
        const uri = writtenUri(word) ?? detailUri(registry, word) ?? word
        uris.set(assertPushed(registry, uri, caller), uri)
      }
      const now = revisionOf(registry)
      const current = registry.scene?.run
      const isCurrent = (since ?? now) === now && (run ?? current) === current
      if (since !== undefined && !isCurrent && sceneUris.some(uri => uris.has(uri))) {
        return sceneChanged(registry, sceneCurrentUri, since, run)
      }
      const end = await nextChange(uris, seconds, caller, parts)
      return typeof end === 'string'
        ? unchanged(registry, end)
        : changed(registry, end, uris, since ?? now)
    },
  })
}

/** What has changed, or why the wait ended without a change. */
async function nextChange(
  uris: Map<string, string>,
  seconds: number,
  caller: Caller,
  { registry, hub, timer, clock, limits, stopped }: ToolParts,
): Promise<Topic | string> {
  const { promise, resolve, reject } = Promise.withResolvers<Topic | string>()
  const started = clock.now()
  const isScene = sceneUris.some(uri => uris.has(uri))
  const timeOut = async () => {
    // A scene that the application sends when it is asked to confirm it still counts as a change.
    if (registry.scene?.asOfMs != null) await registry.scene.refreshed()
    resolve(`nothing${isScene ? ' that the scene shows' : ''} changed in ${seconds} s`)
  }
  const { progress } = caller
  const report = async () => {
    const elapsed = Math.round((clock.now() - started) / 1000)
    progress?.report(elapsed, seconds, 'waiting for a change')
  }
  const stops = [
    timer.after(seconds * 1000, () => void timeOut()),
    ...(progress === null ? [] : [repeat(timer, limits.waitProgressMs, report)]),
    onAbort(caller.signal, () => resolve('the caller has left')),
    onAbort(stopped, () => resolve(stopping)),
  ]
  const subscriber = { resourceUpdated: resolve, listChanged: () => {} }
  hub.add(subscriber)
  try {
    for (const [canonical, uri] of uris) {
      hub.subscribe(subscriber, uri, canonical)?.catch(reject)
      if (isAsked(canonical)) assertThere(registry, uri, caller).catch(reject)
    }
    return await promise
  } finally {
    hub.remove(subscriber)
    for (const stop of stops) stop()
  }
}

/** What may not be there though its scheme is served. */
function isAsked(canonical: string): boolean {
  const isOtherScene = canonical.startsWith('scene:') && !sceneUris.includes(canonical)
  return isOtherScene || isOfApplication(canonical)
}

/** Rejects when there is no such resource; the application may be too busy to say. */
async function assertThere(registry: ServedResources, uri: string, reader: Reader): Promise<void> {
  try {
    await registry.read(uri, reader)
  } catch (error) {
    if (isNotFound(error)) throw error
  }
}

/** The canonical spelling. Throws for what never changes by itself. */
function assertPushed(registry: ServedResources, uri: string, reader: Reader): string {
  const canonical = registry.assertSubscribable(uri, reader).replace(/\?.*$/, '')
  if (registry.pushes(uri)) return canonical
  throw new ServiceError('resource_uri_invalid', `${uri} never announces changes`, {
    hint: 'read it when needed',
  })
}

function revisionOf({ scene }: ServedResources): number | null {
  return scene?.current.revision ?? null
}

/** `base`: the revision of the scene that the caller knows; null: the server has none. */
async function changed(
  registry: ServedResources,
  { uri, base: canonical }: Topic,
  uris: Map<string, string>,
  base: number | null,
): Promise<ToolResult> {
  if (sceneUris.includes(canonical) && base !== null) return sceneChanged(registry, uri, base)
  const isGone = registry.scene?.application?.connected === false
  if (isGone && isOfApplication(canonical)) return unchanged(registry)
  // The scene may have changed, too: the next wait tells it.
  const seen = sceneUris.some(each => uris.has(each)) ? base : revisionOf(registry)
  const tool = canonical === openNotesUri ? 'list_notes' : 'read_resource'
  const line = `changed: ${uri} (${tool} has it)`
  return answer(registry, { changed: true, uris: [uri] }, [line], seen)
}

/** `since`: the present revision when only the application came or went. */
async function sceneChanged(
  registry: ServedResources,
  uri: string,
  since: number,
  run = registry.scene?.run,
): Promise<ToolResult> {
  const { delta, presence, text } = await changesSince(registry, since, run, defaultChars)
  const data = { changed: true, uris: [uri], ...presence?.facts }
  const isSame = run === registry.scene?.run && since === revisionOf(registry)
  if (isSame && presence !== null) {
    return answer(registry, data, [`changed: ${uri}`, presence.line])
  }
  const known = { run: delta.run, revision: delta.revision }
  return textResult(`changed: ${uri}\n${text}`, { ...data, ...known })
}

/** Default reason: the application is gone. */
function unchanged(registry: ServedResources, given?: string): ToolResult {
  const gone = presenceOf(registry.scene)
  const reason = given ?? gone?.line ?? 'the application has left'
  const lines = [`no change: ${reason}`, ...(given && gone ? [gone.line] : [])]
  return answer(registry, { changed: false, reason, ...gone?.facts }, lines)
}

/** With the revision from which a next wait goes on, where the server has a scene. */
function answer(
  registry: ServedResources,
  data: JsonObject,
  lines: readonly string[],
  revision = revisionOf(registry),
): ToolResult {
  if (revision === null) return textResult(lines.join('\n'), data)
  const known = { run: registry.scene?.run, revision }
  return textResult(lines.join('\n') + continueHint(known), { ...data, ...known })
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

const otherInput: z.ZodObject = sceneInput.omit({ since: true, run: true })

function definitionFor(defaultUris: readonly string[]) {
  const isScene = defaultUris.includes(sceneCurrentUri)
  const what = isScene ? 'the user edits the scene' : 'the list of instances changes'
  const note = defaultUris.includes(openNotesUri) ? ', a person makes a note' : ''
  const waitHint = isScene
    ? ', with the revision (since) and run of the answer before, so that nothing is missed. Only what the ' +
      'scene shows counts: for more of one object name it in uris'
    : ''
  return {
    name: 'wait_for_change',
    title: 'Wait for a change',
    description:
      `Wait until ${what}${note} or another resource changes (uris; absent: ` +
      `${defaultUris.join(' and ')}), at most ${longestWaitSeconds} s, and notify you of what ` +
      `changed. Call it again to go on waiting${waitHint}.`,
    searchHint: 'notify when the user edits, wait for the artist, watch, monitor, subscribe, poll',
    input: isScene ? sceneInput : (otherInput as typeof sceneInput),
  }
}
