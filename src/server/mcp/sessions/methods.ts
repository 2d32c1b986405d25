import type { JsonObject } from '../../../lib/util/json.ts'
import type { ServedResources } from '../../resources/served-resources.ts'
import { JsonText } from '../json-text.ts'
import type { ResourceMethods } from '../resource-methods.ts'
import type { SubscriptionHub } from '../subscriptions.ts'
import type { Caller } from '../tools/tool.ts'
import { type ToolMethods, toolList } from '../tools/tool-methods.ts'
import type { Session } from './sessions.ts'

type Method = (params: JsonObject, session: Session, caller: Caller) => JsonText | Promise<JsonText>

/** A method that is not in the table does not exist: −32601. */
export type MethodTable = ReadonlyMap<string, Method>

const empty = JsonText.membersOf({})

interface MethodParts {
  registry: ServedResources
  hub: SubscriptionHub
  resources: ResourceMethods
  /** Null: the server has no tools. */
  tools: ToolMethods | null
}

/** The requests of the session transport. Without resources only these few remain. */
export function createSessionMethods(parts: MethodParts | null): MethodTable {
  const lifecycle: [string, Method][] = [
    ['ping', () => empty],
    // Not offered in the capabilities, and still asked for by clients (Codex) that give a server up
    // when it is refused. The truth does: there are none.
    ['tools/list', (params, _session, caller) => toolList(parts?.tools ?? null, params, caller)],
  ]
  if (parts === null) return new Map(lifecycle)
  const { registry, hub, resources, tools } = parts
  return new Map<string, Method>([
    ...lifecycle,
    ...(tools === null ? [] : [['tools/call', toolCall(tools)] as const]),
    ['resources/list', (params, _session, { reader }) => resources.list(params, reader)],
    ['resources/templates/list', params => resources.listTemplates(params)],
    [
      'resources/read',
      (params, _session, { reader, isBatched }) => resources.read(params, reader, isBatched),
    ],
    ['completion/complete', params => resources.complete(params)],
    [
      'resources/subscribe',
      (params, session, { reader }) => {
        const canonical = registry.assertSubscribable(params.uri, reader)
        // Those that are never pushed, too: the client holds them, so diagnostics count them.
        const uri = String(params.uri)
        const opening = hub.subscribe(session, uri, canonical)
        return opening === undefined ? empty : opening.then(() => empty, refused)

        function refused(error: unknown): never {
          hub.refused(session, uri, canonical)
          throw error
        }
      },
    ],
    [
      'resources/unsubscribe',
      (params, session, { reader }) => {
        const canonical = registry.canonical(params.uri)
        // A subscription can be given up also after its scheme went.
        const subscribed = hub.unsubscribe(session, canonical, String(params.uri))
        if (subscribed === null) registry.assertSubscribable(params.uri, reader)
        else session.stream?.forget(subscribed)
        return empty
      },
    ],
  ])
}

function toolCall(tools: ToolMethods): Method {
  return (params, _session, caller) => tools.call(params, caller)
}
