import type { KeyStore } from './keys/key-store.ts'

/** All that a running server needs of the keys: those of this moment, as rotation leaves them. */
export type KeySource = Pick<KeyStore, 'current'>
