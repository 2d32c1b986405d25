import { jsonContents, type SchemeProducer } from './scheme-producer.ts'
import { ResourceNotFound } from './errors.ts'

export const clientsUri = 'server://clients'

/** The table of clients, which the transports keep. */
export interface ClientsSource {
  rows(): readonly object[]
  watch(watcher: () => void): () => void
  close(): void
}

/**
 * Produces `server://clients`, which is for the page and for people: it is not listed, so that
 * agents do not read who else is connected. Names and URIs in it are what the clients sent.
 */
export function clientsProducer(clients: ClientsSource): SchemeProducer {
  return {
    read({ path, text }) {
      if (path !== 'clients') throw new ResourceNotFound(text)
      return jsonContents(text, JSON.stringify({ clients: clients.rows() }))
    },
  }
}
