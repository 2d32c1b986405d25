import { z } from 'zod'
import { incompleteKey } from '../../lib/mcp/call-meta.ts'
import type { JsonObject } from '../../lib/util/json.ts'
import { ResourceUriInvalid } from '../resources/errors.ts'
import type { ListPage } from '../resources/listing.ts'
import type { Content } from '../resources/producer.ts'
import type { ServedResources } from '../resources/served-resources.ts'
import type { Call } from './call.ts'
import { checkParams } from './errors.ts'
import { contentsText, JsonText, relayedText } from './json-text.ts'
import { serverInfo } from './instructions.ts'
import type { ListenStreams } from './listen.ts'
import type { SessionRevision, Sessions } from './sessions.ts'
import { statelessRevisions } from './stateless.ts'
import type { ToolMethods } from './tools/tool-methods.ts'

/** How long clients may cache `server/discover`. */
const discoverFreshMs = 10_000
/** How long clients may cache the contents of an artefact. */
const artefactFreshMs = 5 * 60_000

interface Method {
  readonly in: 'both' | 'session' | 'stateless'
  /** The members of the result; null: the response has become a stream. */
  run(params: JsonObject, call: Call): JsonText | null | Promise<JsonText | null>
  /** How long clients of the stateless transport may cache the result. Absent: not at all. */
  freshMs?(params: JsonObject): number
}

/** A method that is not in the table, or not in the transport, does not exist: −32601. */
export type MethodTable = ReadonlyMap<string, Method>

/** What the server says of itself in both transports. */
export interface Offered {
  /** How a model finds its way about what is served. */
  readonly instructions: string
  /** False: only what needs no resource remains. */
  readonly resourcesEnabled: boolean
  readonly tools: ToolMethods
}

interface MethodParts extends Offered {
  readonly resources: ServedResources
  readonly sessions: Sessions
  readonly streams: ListenStreams
}

const empty = JsonText.membersOf({})
const live = () => 0

/** The methods of all revisions but `initialize`, which makes the session that all others need. */
export function createMethods(parts: MethodParts): MethodTable {
  const { resources, tools, sessions, streams } = parts
  const discovered = discoverResult(parts)
  const ofResources: Record<string, Method> = {
    'resources/list': {
      in: 'both',
      run: async params => pageText(await resources.page(cursorOf(params))),
      freshMs: live,
    },
    'resources/templates/list': {
      in: 'both',
      run: params => templatesText(resources, params),
      freshMs: live,
    },
    'resources/read': {
      in: 'both',
      run: ({ uri }, call) => read(resources, uri, call),
      // The URI is made from the bytes behind it, which then never change.
      freshMs: ({ uri }) => (String(uri).startsWith('artefact://') ? artefactFreshMs : 0),
    },
    'resources/subscribe': {
      in: 'session',
      async run({ uri }, call) {
        // Those that are never pushed, too: the client holds them, so diagnostics count them.
        const canonical = resources.assertSubscribable(uri, call)
        await sessions.subscribe(call.session!, String(uri), canonical)
        return empty
      },
    },
    'resources/unsubscribe': {
      in: 'session',
      run({ uri }, call) {
        // A subscription can be given up also after its scheme went.
        const isKnown = sessions.unsubscribe(call.session!, String(uri))
        if (!isKnown) resources.assertSubscribable(uri, call)
        return empty
      },
    },
    'completion/complete': { in: 'both', run: params => complete(resources, params) },
    'subscriptions/listen': {
      in: 'stateless',
      run: (params, call) => streams.listen(params, call),
    },
  }
  const methods: Record<string, Method> = {
    ping: { in: 'session', run: () => empty },
    'server/discover': { in: 'stateless', run: () => discovered, freshMs: () => discoverFreshMs },
    // Clients (Codex, Copilot CLI) ask also a server that does not offer tools, and drop one that
    // refuses: the list is then empty.
    'tools/list': { in: 'both', run: tools.list, freshMs: live },
    ...(tools.count > 0 && { 'tools/call': { in: 'both', run: tools.call } }),
    ...(parts.resourcesEnabled && ofResources),
  }
  return new Map(Object.entries(methods))
}

/** InitializeResult. A capability appears only where the revision defines it. */
export function initializeResult(parts: Offered, revision: SessionRevision): JsonText {
  const { completions, ...capabilities } = capabilitiesOf(parts)
  const { instructions, resourcesEnabled } = parts
  return JsonText.membersOf({
    protocolVersion: revision,
    capabilities: revision === '2024-11-05' ? capabilities : { ...capabilities, completions },
    serverInfo,
    ...(resourcesEnabled && { instructions }),
  })
}

/** DiscoverResult, without what every result has. Only versions that need no handshake are named. */
function discoverResult(parts: Offered): JsonText {
  return JsonText.membersOf({
    supportedVersions: statelessRevisions,
    capabilities: capabilitiesOf(parts),
    ...(parts.resourcesEnabled && { instructions: parts.instructions }),
  })
}

function capabilitiesOf({ resourcesEnabled, tools }: Offered) {
  return {
    ...(resourcesEnabled && { resources: { subscribe: true, listChanged: true }, completions: {} }),
    ...(tools.count > 0 && { tools: {} }),
    ...(tools.openApps && { extensions: { 'io.modelcontextprotocol/ui': {} } }),
  }
}

/*
 * An answer is serialised once for as long as the resource registry hands out the identical frozen
 * object: identity is how it says "unchanged". The maps are weak, so a superseded state keeps nothing.
 */
const pages = new WeakMap<ListPage, JsonText>()
const reads = new WeakMap<readonly Content[], JsonText>()

function kept<Key extends object>(
  cache: WeakMap<Key, JsonText>,
  key: Key,
  serialise: (key: Key) => JsonText,
): JsonText {
  const known = cache.get(key)
  if (known !== undefined) return known
  const text = serialise(key)
  if (Object.isFrozen(key)) cache.set(key, text)
  return text
}

function pageText(page: ListPage): JsonText {
  return kept(pages, page, ({ descriptors: resources, nextCursor, incomplete }) => {
    const _meta = incomplete === undefined ? undefined : { [incompleteKey]: incomplete }
    return JsonText.membersOf({ resources, nextCursor, _meta })
  })
}

function templatesText(resources: ServedResources, params: JsonObject): JsonText {
  // All templates fit one page, so no cursor was ever handed out for them.
  if (cursorOf(params) !== undefined) throw new ResourceUriInvalid('unknown cursor')
  return JsonText.membersOf({ resourceTemplates: resources.templates() })
}

async function read(resources: ServedResources, uri: unknown, call: Call): Promise<JsonText> {
  const relayed = resources.relay(uri, call)
  if (relayed !== null) return relayedText(await relayed, call.isBatched)
  return kept(reads, await resources.read(uri, call), contentsText)
}

const completeSchema = z.object({
  ref: z.object({ type: z.literal('ref/resource'), uri: z.string() }),
  argument: z.object({ name: z.string(), value: z.string() }),
  /** The values chosen for other variables; clients send them from revision 2025-06-18 on. */
  context: z.object({ arguments: z.record(z.string(), z.string()).nullish() }).nullish(),
})

async function complete(resources: ServedResources, params: JsonObject): Promise<JsonText> {
  const { ref, argument, context } = checkParams(completeSchema, params)
  const resolved = new Map(Object.entries(context?.arguments ?? {}))
  const completion = await resources.complete(ref.uri, argument.name, argument.value, resolved)
  return JsonText.membersOf({ completion })
}

function cursorOf({ cursor }: JsonObject): string | undefined {
  if (cursor === undefined || typeof cursor === 'string') return cursor
  throw new ResourceUriInvalid('"cursor" must be a string')
}
