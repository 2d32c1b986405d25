import { dataKey } from '../../../lib/mcp/call-meta.ts'
import { onAbort } from '../../../lib/util/abort.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { JsonObject } from '../../../lib/util/json.ts'
import type { Clock } from '../../../lib/util/time.ts'
import { ResourceNotFound, ResourceUriInvalid } from '../../resources/errors.ts'
import type { Reader, RelayedContents } from '../../resources/producer.ts'
import { normaliseUri, parseInstanceUri, parseResourceUri } from '../../resources/resource-uri.ts'
import type { InstanceChange, InstanceDirectory } from '../instance-directory.ts'
import type { AccessTrail } from './access-trail.ts'
import type { Connections } from './connections.ts'
import { EndedInstances } from './ended-instances.ts'
import type { InstanceConnection } from './instance-connection.ts'
import { LargeResult } from './instance-answer.ts'
import { InstanceNames, unknownInstance } from './instance-names.ts'
import type { Follower } from './instance-pushes.ts'
import { isUnreachable } from './relay-errors.ts'
import { assertCall, assertScheme } from './scheme-rights.ts'

/** Resources that instances have for themselves. */
const ownSchemes: ReadonlySet<string> = new Set(['server', 'ui', 'instance'])

/** Requests of one user that are open at one instance: the others must be able to read it, too. */
const maxOpen = 64

interface InstancesParts {
  readonly directory: InstanceDirectory
  readonly connections: Connections
  /** Whether the instance is in the directory now. Absent: none is ever hidden from callers. */
  readonly isVisible?: (instanceId: string) => boolean
  /** Absent: nothing is written down. */
  readonly trail?: AccessTrail
  readonly clock: Clock
  /** `uri`: canonical. */
  readonly updated: (uri: string) => void
  readonly listChanged: () => void
}

/** What a caller wants of an instance. */
export interface Wanted {
  readonly instanceId: string
  /** The method, and of a tool its name. */
  readonly rpc: string
  /** As the caller wrote it; of a call, the address of the instance. */
  readonly uri: string
}

/** A call of a tool of an instance. */
interface ToolCall {
  readonly name: string
  readonly args: JsonObject
  /** The caller wants the answer as data, too. */
  readonly isData: boolean
  /** The answer must begin within this time. */
  readonly answerMs: number
}

/** The instances of one directory, whose resources the gateway passes on. */
export class Instances {
  readonly names: InstanceNames
  readonly #parts: InstancesParts
  readonly #ended: EndedInstances
  /** Instance id → what clients follow of it, canonical. */
  readonly #followed = new Map<string, Set<string>>()
  /** Instance id → requests that are open there, of a user from whom it may be hidden. */
  readonly #open = new Map<string, Set<AbortController>>()
  readonly #follower: Follower
  readonly #stop: () => void

  constructor(parts: InstancesParts) {
    this.#parts = parts
    this.#ended = new EndedInstances(parts)
    this.names = new InstanceNames(parts.directory, this.#ended)
    this.#follower = {
      updated: uri => {
        const { selector = '' } = parseInstanceUri(uri) ?? {}
        if (parts.isVisible?.(selector) !== false) parts.updated(uri)
      },
      listChanged: parts.listChanged,
    }
    this.#stop = parts.directory.onChange(changes => {
      for (const change of changes) this.#changed(change)
    })
  }

  /** Whether a request of a user from whom instances may be hidden is open. */
  get isAsked(): boolean {
    return this.#open.size > 0
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
    return this.names.idOf(parsed.selector, text)
  }

  /** The one spelling under which updates are announced; undefined: there is no such instance. */
  canonical(text: string): string | undefined {
    const parsed = parseInstanceUri(text)
    const [id, ...others] = parsed === null ? [] : this.names.idsOf(parsed.selector)
    if (parsed === null || id === undefined || others.length > 0) return undefined
    return `instance://${id}/${normaliseUri(parsed.inner).replace('://', '/')}`
  }

  /** The members of the result of a read, as they come from the instance. */
  async read(text: string, reader?: Reader): Promise<RelayedContents> {
    const wanted = { instanceId: this.find(text, reader), rpc: 'resources/read', uri: text }
    return this.asked(wanted, reader, (connection, own) => connection.read(text, own))
  }

  /** The members of the result of a tool, as they come from the instance. */
  callTool(
    instanceId: string,
    { name, args, isData, answerMs }: ToolCall,
    reader: Reader | undefined,
  ): Promise<RelayedContents> {
    assertCall(reader?.schemes, name, args)
    const uri = `gateway://instances/${instanceId}`
    const call = {
      method: 'tools/call',
      params: { name, arguments: args },
      member: 'content',
      about: `instance://${instanceId}/`,
      answerMs,
      meta: isData ? { [dataKey]: true } : {},
    }
    const wanted = { instanceId, rpc: `tools/call ${name}`, uri }
    return this.asked(wanted, reader, (connection, own) =>
      connection.call(call, own?.client, own?.signal),
    )
  }

  /** `uri`: canonical, without its query. The promise is of the time when updates arrive. */
  async follow(uri: string): Promise<void> {
    const { selector: instanceId = '' } = parseInstanceUri(uri) ?? {}
    const followed = this.#followed.get(instanceId) ?? new Set()
    this.#followed.set(instanceId, followed.add(uri))
    // After a restart of the gateway an instance may come later than its readers.
    if (this.names.idsOf(instanceId).length === 0) return
    this.find(uri)
    this.assertThere(instanceId, uri)
    const follow = () => this.#follow(instanceId, uri)
    const wanted = { instanceId, rpc: 'resources/subscribe', uri }
    await (this.#parts.trail?.of(wanted, follow) ?? follow())
  }

  unfollow(uri: string): void {
    const { selector: id = '' } = parseInstanceUri(uri) ?? {}
    const followed = this.#followed.get(id)
    if (followed?.delete(uri) !== true) return
    if (followed.size === 0) this.#followed.delete(id)
    this.#unfollow(id, uri)
  }

  /** Throws for an instance that has ended; `uri`: what was asked for. */
  assertThere(instanceId: string, uri?: string): void {
    const error = this.#ended.errorOf(instanceId, uri)
    if (error !== null) throw error
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
    const asked = () => this.#ask(wanted, caller, ask)
    return this.#parts.trail?.of(wanted, asked) ?? asked()
  }

  close(): void {
    this.#stop()
    for (const [id, followed] of this.#followed) {
      for (const uri of followed) this.#unfollow(id, uri)
    }
  }

  async #ask<Answer>(
    { instanceId, uri }: Wanted,
    caller: Reader | undefined,
    ask: (connection: InstanceConnection, reader: Reader | undefined) => Promise<Answer>,
  ): Promise<Answer> {
    this.assertThere(instanceId, uri)
    const connection = this.#parts.connections.to(instanceId)
    try {
      if (this.#parts.isVisible === undefined) return await ask(connection, caller)
      return await this.#whileVisible(instanceId, caller, reader => ask(connection, reader))
    } catch (error) {
      if (this.#isHidden(instanceId)) throw unknownInstance(uri)
      if (!isUnreachable(error)) throw error
      // It may have ended meanwhile.
      await this.#parts.directory.refresh()
      throw this.#ended.errorOf(instanceId, uri) ?? error
    }
  }

  /** Runs a request of a user, whose reader leaves when the instance is hidden. */
  async #whileVisible<Answer>(
    instanceId: string,
    caller: Reader | undefined,
    ask: (reader: Reader) => Promise<Answer>,
  ): Promise<Answer> {
    const open = this.#open.get(instanceId) ?? new Set()
    if (open.size >= maxOpen) {
      const message = `${maxOpen} requests of the user are open at the instance; wait for one of them`
      throw new ServiceError('overloaded', message)
    }
    const hidden = new AbortController()
    this.#open.set(instanceId, open.add(hidden))
    const close = (): void => {
      open.delete(hidden)
      if (open.size === 0) this.#open.delete(instanceId)
    }
    const signals = caller === undefined ? [hidden.signal] : [caller.signal, hidden.signal]
    const reader = { signal: AbortSignal.any(signals), client: caller?.client }
    let isStreamed = false
    try {
      const answer = await Promise.race([ask(reader), rejection(hidden.signal)])
      if (answer instanceof LargeResult) {
        isStreamed = true
        answer.onClose(close)
      }
      return answer
    } finally {
      if (!isStreamed) close()
    }
  }

  #isHidden(instanceId: string): boolean {
    return this.#parts.isVisible?.(instanceId) === false && !this.#ended.has(instanceId)
  }

  #changed(change: InstanceChange): void {
    if (!('entry' in change)) return
    const { instanceId } = change.entry.record
    const followed = this.#followed.get(instanceId) ?? []
    if (change.kind === 'appeared') {
      this.#ended.forget(instanceId)
      for (const uri of followed) {
        // What changed before was not told.
        const told = () => this.#follower.updated(uri)
        this.#follow(instanceId, uri).then(told, told)
      }
      return
    }
    if (change.kind === 'gone') {
      if (change.isHidden !== true) this.#ended.remember(change.entry)
      else this.#endAll(instanceId)
      for (const uri of followed) this.#unfollow(instanceId, uri)
    } else if (!this.#ended.forget(instanceId)) return
    // They read, and learn what became of the instance.
    for (const uri of followed) this.#parts.updated(uri)
  }

  /** Every reader of the instance leaves. */
  #endAll(instanceId: string): void {
    for (const hidden of this.#open.get(instanceId) ?? []) {
      hidden.abort(new ServiceError('cancelled', 'the instance is not visible any more'))
    }
  }

  #follow(instanceId: string, uri: string): Promise<void> {
    return this.#parts.connections.to(instanceId).pushes.follow(uri, this.#follower)
  }

  #unfollow(instanceId: string, uri: string): void {
    this.#parts.connections.unfollow(instanceId, uri, this.#follower)
  }
}

function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => void onAbort(signal, () => reject(signal.reason as Error)))
}
