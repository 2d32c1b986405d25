import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { type SdkClient, Updates } from '../clients/client-face.ts'
import { tapFetch } from '../clients/wire.ts'

/** Connects a client and waits until its event stream is open, so that it misses no update. */
export async function connectWatcher(url: string) {
  const wire = tapFetch(url)
  try {
    const client = new Client({ name: 'watcher', version: '1' }) as unknown as SdkClient
    const updates = new Updates(client)
    await client.connect(new StreamableHTTPClientTransport(new URL(url)))
    await wire.streamOpen()
    return { client, updates }
  } finally {
    wire.release()
  }
}
