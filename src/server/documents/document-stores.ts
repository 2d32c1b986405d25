import { join } from 'node:path'
import type { Logger } from '../../lib/util/logger.ts'
import { CheckpointFolder } from '../checkpoints/checkpoint-folder.ts'
import type { CheckpointStore } from '../checkpoints/checkpoint-store.ts'
import { NoteFolder } from '../notes/note-folder.ts'
import type { NoteStore } from '../notes/note-store.ts'

/** What is kept of documents, by their names. */
export interface DocumentStores {
  notes(document: string): NoteStore
  checkpoints(document: string): CheckpointStore
  close(): void
}

/** A folder below `root` for each document. */
export function documentFolders(root: string, log: Logger): DocumentStores {
  return {
    notes: document => new NoteFolder(join(root, document, 'notes'), log),
    checkpoints: document => new CheckpointFolder(join(root, document, 'checkpoints')),
    close() {},
  }
}
