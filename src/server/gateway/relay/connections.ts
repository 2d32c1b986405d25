import type { ServerLimits } from '../../http/limits.ts'
import { instanceFile } from '../../../lib/instances/state-directory.ts'
import type { InstanceDirectory } from '../instance-directory.ts'
import type { JoinedInstances } from '../join/joined-instances.ts'
import { probeUrl } from '../probes.ts'
import { InstanceConnection } from './instance-connection.ts'
import type { Follower } from './instance-pushes.ts'
import { LocalTransport } from './local-transport.ts'
import { unreachable } from './relay-errors.ts'

interface ConnectionsParts {
  readonly directory: InstanceDirectory
  /** `<registry_dir>/instances` */
  readonly instancesDir: string
  /** The instances that joined; absent: none can. */
  readonly joined?: Pick<JoinedInstances, 'transportOf'>
  /** Whether this is the address of the gateway itself. */
  readonly isOwn: (url: URL) => boolean
  /** Whether clients of the gateway are asked for a key. */
  readonly mayUseKey: () => boolean
  readonly limits: Pick<ServerLimits, 'instanceAnswerMs' | 'instanceSilenceMs'>
}

/** The connections to all instances, which all views share. */
export class Connections {
  readonly #parts: ConnectionsParts
  readonly #connections = new Map<string, InstanceConnection>()
  readonly #stop: () => void

  constructor(parts: ConnectionsParts) {
    this.#parts = parts
    this.#stop = parts.directory.onChange(changes => {
      for (const change of changes) {
        const { instance_id: instanceId } = change.entry.record
        const connection = this.#connections.get(instanceId)
        if (change.kind !== 'gone') connection?.pushes.retry()
        else if (this.#connections.delete(instanceId)) connection?.close()
      }
    })
  }

  to(instanceId: string): InstanceConnection {
    const known = this.#connections.get(instanceId)
    if (known !== undefined) return known
    const { instancesDir, joined, mayUseKey, limits } = this.#parts
    const transport =
      joined?.transportOf(instanceId) ??
      new LocalTransport({
        locate: () => this.#locate(instanceId),
        mayUseKey,
        tokenFile: instanceFile(instancesDir, instanceId, 'token'),
      })
    const connection = new InstanceConnection({ instanceId, transport, limits })
    this.#connections.set(instanceId, connection)
    return connection
  }

  unfollow(instanceId: string, uri: string, follower: Follower): void {
    this.#connections.get(instanceId)?.pushes.unfollow(uri, follower)
  }

  close(): void {
    this.#stop()
    for (const connection of this.#connections.values()) connection.close()
  }

  #locate(instanceId: string): URL {
    const { directory, isOwn } = this.#parts
    const entry = directory.entries.find(({ record }) => record.instance_id === instanceId)
    if (entry === undefined) throw unreachable('it is not known any more')
    const at = probeUrl(entry.record)
    if (!at.ok) throw unreachable(at.failure)
    if (isOwn(at.value)) throw unreachable('its address is that of this gateway')
    return at.value
  }
}
