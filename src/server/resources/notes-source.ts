import type { SchemeProducer } from './scheme-producer.ts'
import type { SceneNow } from './scene/producer.ts'

/** Where `notes://` comes from. */
export interface NotesSource {
  producer(scene: () => SceneNow): SchemeProducer
  /** Sets the listener of changes. */
  onChange(told: (uri: string) => void): void
  close(): void
}
