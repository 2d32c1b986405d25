import { schemeScopes } from '../../../lib/accounts/protocol.ts'
import { dataKey } from '../../../lib/mcp/call-meta.ts'
import { plainId } from '../../../lib/instances/select-instance.ts'
import { controllerWith } from '../../../lib/util/abort.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { JsonObject } from '../../../lib/util/json.ts'
import type { InstanceAccess } from '../../../lib/util/logger.ts'
import { longestWaitSeconds } from '../../../lib/mcp/longest-wait.ts'
import { withoutSecrets } from '../../../lib/util/secret.ts'
import { cleanText } from '../../../lib/util/text.ts'
import type { Viewer } from '../../http/authentication.ts'
import { writtenUri } from '../../mcp/tools/written-uri.ts'
import { ResourceNotFound, ResourceUriInvalid } from '../../resources/errors.ts'
import type { Descriptor, Reader, RelayedContents, Template } from '../../resources/producer.ts'
import {
  normaliseUri,
  parseInstanceUri,
  parseResourceUri,
  type ResourceUri,
} from '../../resources/resource-uri.ts'
import { builtIn, type SchemeProducer } from '../../resources/scheme-producer.ts'
import { polledSchemes } from '../../resources/schemes.ts'
import type { InstanceChange, InstanceDirectory } from '../instance-directory.ts'
import type { Connections } from './connections.ts'
import type { InstanceConnection } from './instance-connection.ts'
import { LargeResult } from './instance-answer.ts'
import { KnownInstances, labelOf, unknownInstance } from './known-instances.ts'

/** Resources that instances have for themselves. */
const ownSchemes: ReadonlySet<string> = new Set(['server', 'ui', 'instance'])

/** A call that waits for a change ends by itself before. */
const waitMs = longestWaitSeconds * 1000 + 15_000
/** Any other tool must answer within this: an application draws a picture in some seconds. */
const toolMs = 30_000

/** Requests of one user that are open at one instance: the others must be able to read it, too. */
const maxOpen = 64

/** What tools read that name no resource. */
const schemeOfTool: Record<string, string> = {
  query_scene: 'scene',
  scene_changes: 'scene',
  look: 'capture',
  list_notes: 'notes',
}
/** What `wait_for_change` waits for when it names nothing. */
const defaultWaits = ['scene', 'notes']

const templates: readonly Template[] = builtIn([
  {
    uriTemplate: 'instance://{instance_id}/scene/current',
    name: 'Scene of an instance',
    description: 'The whole scene of one instance; with ?view=summary on one page',
  },
  {
    uriTemplate: 'instance://{instance_id}/{scheme}/{+path}',
    name: 'Any resource of an instance',
    description: 'scheme://path of the instance is instance://<id>/scheme/path here',
    mimeType: undefined,
  },
])

interface InstancesParts {
  readonly directory: InstanceDirectory
  readonly connections: Connections
  /**
   * The user who calls, from whom an instance may be hidden later; null: holders of the gateway's
   * key. Absent: accesses are not logged.
   */
  readonly viewer?: Viewer | null
  readonly accessLog: (access: InstanceAccess) => void
  /** `uri`: canonical. */
  readonly updated: (uri: string) => void
}

/** What a caller wants of an instance. */
interface Wanted {
  readonly instanceId: string
  /** The method, and of a tool its name. */
  readonly rpc: string
  /** As the caller wrote it; of a call, the address of the instance. */
  readonly uri: string
}

/**
 * The scheme `instance://`: what the instances of one directory serve, at the address of the
 * gateway, which lists none of it.
 */
export class Instances implements SchemeProducer {
  readonly known: KnownInstances
  readonly #parts: InstancesParts
  /** Instance id → what clients follow of it, canonical. */
  readonly #followed = new Map<string, Set<string>>()
  /** Instance id → requests that are open there, of a user from whom it may be hidden. */
  readonly #open = new Map<string, AbortController[]>()
  readonly #stop: () => void

  constructor(parts: InstancesParts) {
    this.#parts = parts
    this.known = new KnownInstances(parts.directory)
    this.#stop = parts.directory.onChange(changes => {
      for (const change of changes) this.#changed(change)
    })
  }

  /** The scenes that the caller may read. */
  first({ schemes }: Reader): readonly Descriptor[] {
    if (schemes?.includes('scene') === false) return []
    return this.known.live
      .filter(({ record }) => record.host.connected || record.scene !== null || record.scene_set_at)
      .map(entry => ({
        uri: `instance://${entry.record.instance_id}/scene/current`,
        name: `scene of ${labelOf(entry)}`,
        mimeType: 'application/json',
      }))
  }

  templates(): readonly Template[] {
    return templates
  }

  complete(variable: string, prefix: string): readonly string[] {
    if (variable !== 'instance_id') return []
    const ids = this.known.live.map(({ record }) => record.instance_id)
    return ids.filter(id => plainId(id).startsWith(plainId(prefix)))
  }

  checkParameters({ text }: ResourceUri, reader?: Reader): void {
    this.known.assertThere(this.find(text, reader), text)
  }

  /** Results are relayed; what is not is no resource. */
  read({ text }: ResourceUri): never {
    throw new ResourceNotFound(text)
  }

  async relay({ text: uri }: ResourceUri, reader?: Reader): Promise<RelayedContents> {
    const wanted = { instanceId: this.find(uri, reader), rpc: 'resources/read', uri }
    return this.asked(wanted, reader, (connection, own) => connection.read(uri, own))
  }

  /** Undefined: there is no such instance, or there are several. */
  canonical({ text }: ResourceUri): string | undefined {
    const parsed = parseInstanceUri(text)
    const [id, ...others] = parsed === null ? [] : this.known.idsOf(parsed.selector)
    if (parsed === null || id === undefined || others.length > 0) return undefined
    return `instance://${id}/${normaliseUri(parsed.inner).replace('://', '/')}`
  }

  pushes({ text }: Pick<ResourceUri, 'text'>): boolean {
    const parsed = parseInstanceUri(text)
    return parsed !== null && !polledSchemes.has(parsed.scheme)
  }

  async follow(uri: string, isFollowed: boolean): Promise<void> {
    const { selector: instanceId = '' } = parseInstanceUri(uri) ?? {}
    if (!this.pushes({ text: uri })) return
    const { connections, directory, updated } = this.#parts
    const followed = this.#followed.get(instanceId) ?? new Set()
    if (!isFollowed) {
      followed.delete(uri)
      if (followed.size === 0) this.#followed.delete(instanceId)
      return connections.unfollow(instanceId, uri, updated)
    }
    this.#followed.set(instanceId, followed.add(uri))
    // After a restart of the gateway an instance may come later than its readers.
    if (!directory.entries.some(({ record }) => record.instance_id === instanceId)) return
    const wanted = { instanceId, rpc: 'resources/subscribe', uri }
    await this.#trailed(wanted, () => connections.to(instanceId).pushes.follow(uri, updated))
  }

  /** The id of the instance. Throws for a URI that the caller may not read through a gateway. */
  find(text: string, reader?: Pick<Reader, 'schemes'>): string {
    const parsed = parseInstanceUri(text)
    if (parsed === null || ownSchemes.has(parsed.scheme)) {
      const error = new ResourceNotFound(text)
      error.message += '; the scene of an instance is instance://<id>/scene/current'
      throw error
    }
    assertScheme(reader?.schemes, parsed.scheme)
    const uri = parseResourceUri(text)
    if (!uri.ok) throw new ResourceUriInvalid(uri.failure)
    if (!['false', '0'].includes(uri.value.query.get('drain') ?? 'false')) {
      throw new ResourceUriInvalid('a gateway never drains events: leave out drain')
    }
    return this.known.idOf(parsed.selector, text)
  }

  /** The members of the result of a tool. `isData`: the caller wants the answer as data, too. */
  callTool(
    instanceId: string,
    name: string,
    args: JsonObject,
    reader: Reader,
    isData: boolean,
  ): Promise<RelayedContents> {
    for (const scheme of schemesOf(name, args)) assertScheme(reader.schemes, scheme)
    const call = {
      method: 'tools/call',
      params: { name, arguments: args },
      member: 'content',
      about: `instance://${instanceId}/`,
      answerMs: name === 'wait_for_change' ? waitMs : toolMs,
      meta: isData ? { [dataKey]: true } : {},
    }
    const uri = `gateway://instances/${instanceId}`
    const wanted = { instanceId, rpc: `tools/call ${name}`, uri }
    return this.asked(wanted, reader, (connection, { client, signal } = reader) =>
      connection.call(call, client, controllerWith(signal)),
    )
  }

  /**
   * Asks the instance for a caller. One that is hidden meanwhile fails as an unknown one, and `reader`
   * leaves then.
   */
  asked<Answer>(
    wanted: Wanted,
    caller: Reader | undefined,
    ask: (connection: InstanceConnection, reader: Reader | undefined) => Promise<Answer>,
  ): Promise<Answer> {
    return this.#trailed(wanted, async () => {
      const { instanceId, uri } = wanted
      this.known.assertThere(instanceId, uri)
      const connection = this.#parts.connections.to(instanceId)
      if (this.#parts.viewer == null) return ask(connection, caller)
      return this.#whileVisible(wanted, caller, reader => ask(connection, reader))
    })
  }

  close(): void {
    this.#stop()
    const { connections, updated } = this.#parts
    for (const [id, followed] of this.#followed) {
      for (const uri of followed) connections.unfollow(id, uri, updated)
    }
  }

  /** Runs a request of a user, whose reader leaves when the instance is hidden. */
  async #whileVisible<Answer>(
    { instanceId, uri }: Wanted,
    caller: Reader | undefined,
    ask: (reader: Reader) => Promise<Answer>,
  ): Promise<Answer> {
    const open = this.#open.get(instanceId) ?? []
    if (open.length >= maxOpen) {
      const message = `${maxOpen} requests of the user are open at the instance; wait for one of them`
      throw new ServiceError('overloaded', message)
    }
    const hidden = new AbortController()
    open.push(hidden)
    this.#open.set(instanceId, open)
    const close = (): void => {
      open.splice(open.indexOf(hidden), 1)
      if (open.length === 0) this.#open.delete(instanceId)
    }
    const signals = caller === undefined ? [hidden.signal] : [caller.signal, hidden.signal]
    try {
      const answer = await ask({ signal: AbortSignal.any(signals), client: caller?.client })
      if (answer instanceof LargeResult) answer.onClose(close)
      else close()
      return answer
    } catch (error) {
      close()
      throw hidden.signal.aborted ? unknownInstance(uri) : error
    }
  }

  /** Runs what a caller wants of an instance, and logs how it ended when the instance has joined. */
  async #trailed<Answer>(
    { instanceId, rpc, uri }: Wanted,
    run: () => Promise<Answer>,
  ): Promise<Answer> {
    const { directory, viewer, accessLog } = this.#parts
    if (viewer === undefined) return run()
    const entry = directory.entries.find(({ record }) => record.instance_id === instanceId)
    if (!entry?.record.joined) return run()
    const { owner } = entry.record.joined
    const { username: user = null, accountId = null } = viewer ?? {}
    const facts = { user, account_id: accountId, instance_id: instanceId, owner, rpc }
    const write = (outcome: string) =>
      accessLog({ ...facts, uri: cleanText(withoutSecrets(uri), 200), outcome })
    try {
      const answer = await run()
      write('ok')
      return answer
    } catch (error) {
      write(error instanceof ServiceError ? error.code : 'internal')
      throw error
    }
  }

  #changed(change: InstanceChange): void {
    const { connections, updated } = this.#parts
    const { kind, entry } = change
    const { instance_id: instanceId } = entry.record
    const followed = [...(this.#followed.get(instanceId) ?? [])]
    if (kind === 'appeared') {
      this.known.forget(instanceId)
      for (const uri of followed) {
        // What changed before was not told.
        const notify = () => updated(uri)
        connections.to(instanceId).pushes.follow(uri, updated).then(notify, notify)
      }
      return
    }
    if (kind === 'gone') {
      if (change.isHidden !== true) this.known.remember(entry)
      else for (const hidden of this.#open.get(instanceId) ?? []) hidden.abort()
      for (const uri of followed) connections.unfollow(instanceId, uri, updated)
    } else if (entry.verdict.health !== 'dead') return
    // Clients read, and learn what became of the instance.
    for (const uri of followed) updated(uri)
  }
}

/** Throws for a scheme of instances that the caller may not read. */
function assertScheme(schemes: Reader['schemes'], scheme: string): void {
  if (schemes?.includes(scheme) !== false) return
  const scope = schemeScopes.find(each => each === `read:${scheme}`)
  throw new ServiceError('scope_insufficient', `the token may not read ${scheme} of instances`, {
    hint: `it needs the scope read${scope === undefined ? '' : ` or ${scope}`}`,
    data: { reason: 'scope_insufficient', scheme },
  })
}

/** Schemes of which a call of a tool could show something. */
function schemesOf(name: string, { uri, uris }: JsonObject): readonly string[] {
  if (name === 'read_resource') return [schemeOf(uri)]
  if (name === 'wait_for_change') {
    return Array.isArray(uris) && uris.length > 0 ? uris.map(schemeOf) : defaultWaits
  }
  return [schemeOfTool[name] ?? 'every resource']
}

function schemeOf(uri: unknown): string {
  const written = writtenUri(String(uri))
  if (written === null) return 'every resource'
  const [scheme = ''] = written.toLowerCase().split('://')
  return parseInstanceUri(written)?.scheme ?? scheme
}
