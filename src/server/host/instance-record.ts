import { rm, utimes } from 'node:fs/promises'
import { hostname } from 'node:os'
import pLimit from 'p-limit'
import { systemClock, toRfc3339 } from '../../lib/util/time.ts'
import { errnoOf } from '../../lib/util/errors.ts'
import { instanceFile } from '../../lib/instances/state-directory.ts'
import type { InstanceRecord } from '../../lib/instances/record.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { replaceFile } from '../../lib/util/replace-file.ts'
import { processStart } from '../../lib/instances/process.ts'
import type { Secret } from '../../lib/util/secret.ts'
import type { SceneState } from '../resources/scene/state.ts'

type StartFacts =
  'instance_id' | 'dcc_type' | 'mcp_url' | 'host_url' | 'host_token_file' | 'version' | 'gateways'

/** The record of this process as it starts: no application has shown itself yet. */
export function createInstanceRecord(
  facts: Pick<InstanceRecord, StartFacts> & { readonly display_name?: string },
): InstanceRecord {
  return {
    schema_version: 1,
    pid: process.pid,
    pid_start: processStart(process.pid),
    hostname: hostname(),
    host: { connected: false, app_pid: null, version: null, mode: null },
    scene: null,
    scene_set_at: null,
    status: 'available',
    started_at: toRfc3339(systemClock.now()),
    metadata: {},
    ...facts,
    display_name: facts.display_name ?? `${facts.dcc_type} on ${hostname()}`,
  }
}

/** A later scene within this time does not change the record. */
const sceneStepMs = 60_000

/** What a record should say of a scene that was posted or read from a file; null: it does. */
export function sceneTimePatch(
  { current, setBy }: Pick<SceneState, 'current' | 'setBy'>,
  { scene_set_at: before }: Pick<InstanceRecord, 'scene_set_at'>,
): InstancePatch | null {
  const setAtMs = current.hasScene && setBy === null ? current.setAtMs : null
  if (setAtMs === null) return before === null ? null : { scene_set_at: null }
  const isNear = before !== null && Math.abs(setAtMs - Date.parse(before)) < sceneStepMs
  return isNear ? null : { scene_set_at: toRfc3339(setAtMs) }
}

export type InstancePatch = Partial<InstanceRecord>

/** The files are of no use after a crash of the system, and a sync of the disk takes long. */
const notDurable = { durable: false }

interface InstanceFileOptions {
  /** `<registry_dir>/instances` */
  readonly instancesDir: string
  readonly record: InstanceRecord
  readonly heartbeatMs: number
  readonly log: Logger
  /** Kept in the owner's file of the instance. */
  readonly ownerToken?: Secret
}

/**
 * This process' entry in the directory of instances. Its modification time is the heartbeat.
 * Trouble with the file never stops the server: it is logged once, and the next change is written.
 */
export class InstanceFile {
  readonly path: string
  readonly #options: InstanceFileOptions
  readonly #timer: NodeJS.Timeout
  #record: InstanceRecord
  /** One at a time, so that an older record never lands on a newer one. */
  readonly #queue = pLimit(1)
  readonly #followers = new Set<() => void>()
  #isReported = false
  #isRemoved = false

  /** Resolves when the record is written, or its trouble logged. */
  static async create(options: InstanceFileOptions): Promise<InstanceFile> {
    const file = new InstanceFile(options)
    const { instancesDir, record, ownerToken } = options
    const path = instanceFile(instancesDir, record.instance_id, 'owner')
    // Before the record by which commands find it.
    if (ownerToken !== undefined) {
      await file.#attempt(() => replaceFile(path, ownerToken.reveal(), notDurable))
    }
    await file.update({})
    return file
  }

  private constructor(options: InstanceFileOptions) {
    this.#options = options
    this.#record = options.record
    this.path = instanceFile(options.instancesDir, options.record.instance_id, 'json')
    this.#timer = setInterval(() => void this.beat(), options.heartbeatMs).unref()
  }

  get record(): InstanceRecord {
    return this.#record
  }

  /** Calls back after each change of `record`. Returns the stop. */
  follow(changed: () => void): () => void {
    this.#followers.add(changed)
    return () => void this.#followers.delete(changed)
  }

  /** Rewrites the record with the changed members. */
  update(patch: InstancePatch): Promise<void> {
    this.#record = { ...this.#record, ...patch }
    for (const changed of this.#followers) changed()
    const text = `${JSON.stringify(this.#record, null, 2)}\n`
    return this.#attempt(() => replaceFile(this.path, text, notDurable))
  }

  /** Touches record and tokens, which keeps them from cleaners. */
  beat(): Promise<void> {
    return this.#attempt(async () => {
      const now = new Date()
      // A token that the user supplied has no file here.
      for (const path of this.#tokens) await utimes(path, now, now).catch(() => {})
      await utimes(this.path, now, now)
    })
  }

  /** Ends the heartbeat and deletes the record and the tokens made for this run. */
  remove(): Promise<void> {
    clearInterval(this.#timer)
    const removed = this.#attempt(async () => {
      for (const path of [this.path, ...this.#tokens]) await rm(path, { force: true })
    })
    this.#isRemoved = true
    return removed
  }

  get #tokens(): readonly string[] {
    const { instancesDir, record } = this.#options
    const kinds = ['token', 'owner'] as const
    return kinds.map(kind => instanceFile(instancesDir, record.instance_id, kind))
  }

  async #attempt(work: () => Promise<unknown>): Promise<void> {
    if (this.#isRemoved) return
    try {
      await this.#queue(work)
    } catch (error) {
      if (this.#isReported) return
      this.#isReported = true
      const message = 'instance record cannot be written: adapters and gateways may not find it'
      this.#options.log.warn({ path: this.path, code: errnoOf(error) }, message)
    }
  }
}
