import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { messageOf, ServiceError } from '../../lib/util/errors.ts'
import { type MemberFailure, MemberReader } from '../../lib/host-link/member-reader.ts'
import type { Result } from '../../lib/util/result.ts'
import { cleanText } from '../../lib/util/text.ts'
import { systemClock, toRfc3339 } from '../../lib/util/time.ts'
import { type Checkpoint, CheckpointFolder } from './checkpoint-folder.ts'
import type { ComparedScenes, SceneComparison } from './compare-scenes.ts'
import type { DocumentFolder } from './document-folder.ts'
import type { SceneComparer } from './scene-comparer.ts'
import type { FreshScene } from '../resources/scene/state.ts'

export interface CheckpointInput {
  readonly name: string
  readonly by: string
  readonly ofNote?: boolean
}

interface CheckpointsParts {
  /** Of the document that is open in the application. */
  readonly document: () => DocumentFolder
  readonly scene: () => Promise<FreshScene>
  readonly comparer: Pick<SceneComparer, 'compare'>
}

const [pack, unpack] = [promisify(gzip), promisify(gunzip)]

/** Named scenes of the open document. */
export class Checkpoints {
  readonly #parts: CheckpointsParts
  #told: () => void = () => {}

  constructor(parts: CheckpointsParts) {
    this.#parts = parts
  }

  /** Between the texts of any two scenes. */
  changes(base: string, until: string, maxChanges: number): Promise<SceneComparison> {
    return this.compare({ base, current: until, maxChanges, targets: [] })
  }

  compare(compared: ComparedScenes): Promise<SceneComparison> {
    return this.#parts.comparer.compare(compared)
  }

  /** Sets the listener of changes. */
  onChange(told: () => void): void {
    this.#told = told
  }

  /** The oldest first. */
  list(): Promise<readonly Checkpoint[]> {
    return this.of().list()
  }

  /** Throws `resource_not_found`, which names those that there are. */
  async find(name: string): Promise<string> {
    const folder = this.of()
    const kept = await folder.list()
    if (!kept.some(each => each.name === name)) throw notFound(name, kept)
    try {
      return String(await unpack((await folder.read(name)) ?? ''))
    } catch (error) {
      const message = `checkpoint "${name}" cannot be read: ${messageOf(error)}`
      throw new ServiceError('resource_failed', message, { hint: 'remove it and make it again' })
    }
  }

  /** Throws `name_taken` for a name in use, `limit_reached` when there is no room. */
  async add(
    { name, by, ofNote = false }: CheckpointInput,
    document = this.#parts.document(),
  ): Promise<Checkpoint> {
    const { text, unconfirmed } = await this.#parts.scene()
    if (text === null) {
      throw new ServiceError('resource_not_found', 'the application has sent no scene yet', {
        hint: 'connect the application, then make the checkpoint again',
      })
    }
    const packed = await pack(text)
    const created_at = toRfc3339(systemClock.now())
    const size = Buffer.byteLength(text)
    const facts = { name, created_at, by, size, stored_bytes: packed.length }
    const checkpoint = { ...facts, ...unconfirmed, ...(ofNote && { of_note: true }) }
    await this.of(document).add(checkpoint, packed)
    this.#told()
    return checkpoint
  }

  async remove(name: string, document = this.#parts.document()): Promise<void> {
    const folder = this.of(document)
    if (!(await folder.remove(name))) throw notFound(name, await folder.list())
    this.#told()
  }

  /** Those of any document; by default of the one that is open. */
  of(document = this.#parts.document()): CheckpointFolder {
    return new CheckpointFolder(document.folder('checkpoints'))
  }
}

/** A name has a letter, so that it is never taken for a revision. */
export function isCheckpointName(name: string): boolean {
  return /^(?=.*\p{L})[\p{L}\p{N}._-][\p{L}\p{N} ._-]{0,63}$/u.test(name) && !name.endsWith(' ')
}

/** `{"name", "by"?}` */
export function checkpointInput(body: unknown): Result<CheckpointInput, MemberFailure> {
  const reader = new MemberReader(body, '')
  const name = reader.required('name', reader.text('name')?.trim(), '')
  if (!isCheckpointName(name)) {
    reader.refuse(
      'name',
      'must have a letter, and at most 64 letters, digits, spaces, ".", "_", "-"',
    )
  } else if (/^note-[0-9a-f]{8}$/i.test(name)) {
    reader.refuse('name', 'is a name for the checkpoint of a note: take another one')
  }
  return reader.finish<CheckpointInput>({ name, by: reader.name('by', 255) ?? 'unknown' })
}

function notFound(name: string, kept: readonly Checkpoint[]): ServiceError {
  const names = kept.map(each => each.name).slice(-10)
  const known = names.length === 0 ? 'there is none' : `there are ${names.join(', ')}`
  return new ServiceError(
    'resource_not_found',
    `this document has no checkpoint "${cleanText(name, 80)}"; ${known}`,
  )
}
