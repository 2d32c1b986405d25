import type { ArtefactStore } from './store.ts'

/** A store that is opened when it is first used: for a server that is built synchronously. */
export function createLazyStore(open: () => Promise<ArtefactStore>): ArtefactStore {
  const listeners = new Set<() => void>()
  const changed = () => {
    for (const listener of listeners) listener()
  }
  const onRemove = new Set<(hex: string) => void>()
  let opening: Promise<ArtefactStore> | null = null
  const store = () => {
    opening ??= open().then(opened => {
      opened.onChange(changed)
      opened.onRemove(hex => {
        for (const listener of onRemove) listener(hex)
      })
      return opened
    })
    return opening
  }
  return {
    put: async (source, options) => (await store()).put(source, options),
    find: async hex => (await store()).find(hex),
    open: async hex => (await store()).open(hex),
    openToSend: async (hex, cut) => (await store()).openToSend(hex, cut),
    page: async (after, limit, filter) => (await store()).page(after, limit, filter),
    startingWith: async (prefix, limit) => (await store()).startingWith(prefix, limit),
    remove: async hex => (await store()).remove(hex),
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    onRemove(listener) {
      onRemove.add(listener)
      return () => void onRemove.delete(listener)
    },
    async close() {
      if (opening === null) return
      const opened = await opening.catch(() => null)
      await opened?.close()
    },
  }
}
