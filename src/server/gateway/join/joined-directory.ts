import type { Result } from '../../../lib/util/result.ts'
import type { InstanceDirectory } from '../instance-directory.ts'
import type { InstanceTransport } from '../relay/instance-transport.ts'
import type { LinkClient } from './link-client.ts'
import type { ToldRecord } from './record-lines.ts'

/** The instances that joined: this gateway, or any of those that share the directory. */
export interface JoinedDirectory extends InstanceDirectory {
  /** Why no instance can join now, as a clause; null: they can. */
  readonly unavailable: string | null
  /**
   * Adds an instance whose link is open here. Resolves with why it cannot join; rejects when that
   * cannot be decided.
   */
  admit(joining: Joining): Promise<Result<Membership, string>>
  /** Null: no such instance has joined. */
  transportOf(instanceId: string): InstanceTransport | null
  /** Calls back when an instance has its link, or has it again. */
  onLinked(listener: (instanceId: string) => void): void
}

export interface Joining {
  readonly told: ToldRecord
  readonly client: LinkClient
  /** Called when a newer link of the instance takes the place of this one. */
  readonly replaced: () => void
}

/** An instance in the directory, for as long as no newer link has taken its place. */
export interface Membership {
  /** Also while its link is lost: its user may have another name or team. */
  change(told: ToldRecord): void
  /** Its link is cut: it is stale until it is back, or gone. */
  lose(reason: string): void
  /** It is gone. */
  end(cause: string): void
}

/** The MCP endpoint of an instance on its link. */
export const linkUrl = new URL('http://instance/mcp')
