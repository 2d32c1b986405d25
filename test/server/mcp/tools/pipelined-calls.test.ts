import { expect } from 'chai'
import { connect } from 'node:net'
import { until } from '../../../helpers/until.ts'
import { startServer } from '../../../helpers/mcp.ts'
import { callStateless, statelessHeaders, statelessRequest } from '../../../helpers/stateless.ts'

const count = 200
const params = { name: 'read_resource', arguments: { uri: 'app://large', max_chars: 200_000 } }

/** One call, with its number as id. */
function callText(id: number): string {
  const body = JSON.stringify({ ...statelessRequest('tools/call', params), id })
  const headers = { Host: 'localhost', ...statelessHeaders('tools/call', params) }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST /mcp HTTP/1.1\r\n${lines.join('')}Content-Length: ${body.length}\r\n\r\n${body}`
}

describe('calls that a client sends at once without reading answers', () => {
  it('run when their answers can be sent, and are answered in their order', async () => {
    let reads = 0
    const { url, server, stop } = await startServer({ enableTools: true })
    server
      .resources()
      .attach({
        scheme: 'app',
        list: () => [],
        templates: () => [],
        read: uri => [{ uri, text: `${++reads}`.padEnd(200_000) }],
      })
    const client = connect(Number(new URL(url).port), '127.0.0.1')
    try {
      client.write(Array.from({ length: count }, (_, at) => callText(at)).join(''))
      // Both what came and what the system takes for a client that does not read is done by then.
      for (let round = 0; round < count; round++) await callStateless(url, 'ping')
      expect(reads).to.be.within(1, count / 2)
      let text = ''
      client.setEncoding('latin1').on('data', (chunk: string) => {
        text += chunk.replaceAll(/ {2,}/g, ' ')
      })
      await until(() => text.includes(`"id":${count - 1},`), 'the last answer')
      const ids = Array.from(text.matchAll(/"jsonrpc":"2.0","id":(\d+),/g), ([, id]) => Number(id))
      expect(ids).to.deep.equal(Array.from({ length: count }, (_, at) => at))
    } finally {
      client.destroy()
      await stop()
    }
  })
})
