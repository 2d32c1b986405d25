import type { ServerResponse } from 'node:http'
import type { JsonObject } from '../../../lib/util/json.ts'
import type { ServerIdentity } from '../request-context.ts'
import type { RequestMessage } from '../json-rpc.ts'
import { JsonText, type ResultOpening } from '../json-text.ts'
import type { Reader } from '../../resources/producer.ts'
import type { ResourceMethods } from '../resource-methods.ts'
import type { Caller } from '../tools/tool.ts'
import { type ToolMethods, toolList } from '../tools/tool-methods.ts'
import { type ResultOpenings, statelessRevisions } from './meta.ts'

/** A method that is answered with one JSON object. */
export interface AnsweredMethod {
  readonly kind: 'answer'
  /** The members of the result. */
  run(params: JsonObject, caller: Caller): JsonText | Promise<JsonText>
  /** What stands before them. */
  opening(params: JsonObject): ResultOpening
}

/** A method whose answer is a stream. */
export interface StreamedMethod {
  readonly kind: 'stream'
  readonly open: ListenMethod
}

type Method = AnsweredMethod | StreamedMethod

/**
 * Turns the answer into a stream. Throws or rejects, with nothing written, with what the client is to
 * be told.
 */
export type ListenMethod = (
  res: ServerResponse,
  request: RequestMessage,
  reader: Reader,
) => void | Promise<void>

/** A method that is not in the table does not exist: 404, −32601. */
export type MethodTable = ReadonlyMap<string, Method>

interface MethodParts {
  identity: ServerIdentity
  openings: ResultOpenings
  /** Null: resources are switched off. */
  resources: { methods: ResourceMethods; listen: ListenMethod } | null
  /** Null: the server has no tools. */
  tools: ToolMethods | null
  /** Of the protocol, which some tools use. */
  extensions?: JsonObject
}

/** The requests of the stateless transport. Without resources only discovery and no tools remain. */
export function createStatelessMethods(parts: MethodParts): MethodTable {
  const { identity, openings, resources, tools, extensions } = parts
  const discovered = discoverResult(identity.instructions, resources !== null, {
    ...(tools !== null && { tools: {} }),
    ...(extensions && { extensions }),
  })
  const { plain, live, discover, read } = openings
  const discovery: [string, Method][] = [
    ['server/discover', { kind: 'answer', run: () => discovered, opening: () => discover }],
    // Not offered, yet Copilot CLI drops a server that rejects it. Sessions answer the same.
    [
      'tools/list',
      {
        kind: 'answer',
        run: (params, caller) => toolList(tools, params, caller),
        opening: () => live,
      },
    ],
  ]
  if (resources === null) return new Map(discovery)
  const { methods, listen } = resources
  const method = (
    run: AnsweredMethod['run'],
    opening: AnsweredMethod['opening'],
  ): AnsweredMethod => ({ kind: 'answer', run, opening })
  return new Map<string, Method>([
    ...discovery,
    [
      'resources/list',
      method(
        (params, { reader }) => methods.list(params, reader),
        () => live,
      ),
    ],
    ['resources/templates/list', method(methods.listTemplates, () => live)],
    [
      'resources/read',
      method(
        (params, { reader }) => methods.read(params, reader),
        ({ uri }) => read(uri),
      ),
    ],
    ...(tools === null ? [] : [['tools/call', method(tools.call, () => plain)] as const]),
    ['completion/complete', method(methods.complete, () => plain)],
    ['subscriptions/listen', { kind: 'stream', open: listen }],
  ])
}

/** DiscoverResult, without what every result has. Only versions that need no handshake are named. */
function discoverResult(
  instructions: string,
  resourcesEnabled: boolean,
  extraCapabilities: Record<string, object>,
): JsonText {
  return JsonText.membersOf({
    supportedVersions: statelessRevisions,
    capabilities: {
      ...(resourcesEnabled
        ? { resources: { subscribe: true, listChanged: true }, completions: {} }
        : {}),
      ...extraCapabilities,
    },
    ...(resourcesEnabled ? { instructions } : {}),
  })
}
