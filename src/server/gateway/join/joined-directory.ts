import type { Result } from '../../../lib/util/result.ts'
import type { InstanceDirectory } from '../instance-directory.ts'
import type { InstanceTransport } from '../relay/instance-transport.ts'
import type { LinkClient } from './link-client.ts'
import type { ToldRecord } from './told-record.ts'

/** The instances that joined this gateway, or one of those that share the directory. */
export interface JoinedDirectory extends InstanceDirectory {
  /** Why no instance can join now, as a clause; null when they can. */
  readonly unavailable: string | null
  /**
   * Adds an instance whose link is open here. Fails with why it cannot join, as a clause; rejects
   * when that cannot be decided now.
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
  /** Called when the instance has opened a newer link. */
  readonly replaced: () => void
}

/** Changes the entry of an instance; without effect once it has opened a newer link. */
export interface Membership {
  /** Its record or its user has changed, the latter also while the link is lost. */
  change(told: ToldRecord): void
  /** The link is cut: the instance is stale until it joins again, or is gone. */
  lose(reason: string): void
  /** The instance is gone. */
  end(cause: string): void
}

/** Ids of one account that are remembered. */
export const maxIdsPerAccount = 1000

/** Why `admit` fails, as clauses. */
export const admissionRefusals = {
  foreignId: 'its id is that of another user',
  tooMany: (most: number) => `the user has ${most} instances, those with a lost link included`,
} as const
