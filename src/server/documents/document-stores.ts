import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { Logger } from '../../lib/util/logger.ts'
import { CheckpointFolder } from '../checkpoints/checkpoint-folder.ts'
import type { CheckpointStore } from '../checkpoints/checkpoint-store.ts'
import { NoteFolder } from '../notes/note-folder.ts'
import type { NoteStore } from '../notes/note-store.ts'

/** The notes and checkpoints of all documents, by document name (see `documentName`). */
export interface DocumentStores {
  notes(document: string): NoteStore
  checkpoints(document: string): CheckpointStore
  close(): void
}

/** Ends the name of a document without a path, which each account of a machine has for itself. */
export const localSuffix = '.local'

/** Hashes the path, or the name of a document without one: files of one name in two folders stay apart. */
export function documentName(
  dccType: string,
  open: { path?: string; name?: string } | null | undefined,
): string {
  const { path, name = '' } = open ?? {}
  const hash = createHash('sha256')
    .update(`${dccType}\n${path ?? name}`)
    .digest('hex')
    .slice(0, 32)
  return path === undefined ? hash + localSuffix : hash
}

/** Keeps each document in a folder below `root`. */
export function documentFolders(root: string, log: Logger): DocumentStores {
  return {
    notes: document => new NoteFolder(join(root, document, 'notes'), log),
    checkpoints: document => new CheckpointFolder(join(root, document, 'checkpoints')),
    close() {},
  }
}
