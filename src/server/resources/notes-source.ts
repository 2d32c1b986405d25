import type { SchemeProducer } from './scheme-producer.ts'
import type { SceneNow } from './scene/producer.ts'

/** Where `notes://` comes from. */
export interface NotesSource {
  producer(scene: () => SceneNow): SchemeProducer
  /** Sets the listener of changes. */
  onChange(told: (uri: string) => void): void
  /** The URI has its first subscriber, or none any more. */
  follow(uri: string, isFollowed: boolean): void
  close(): void
}
