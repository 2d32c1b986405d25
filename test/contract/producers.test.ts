import { expect } from 'chai'
import { ResourceNotFound, type ResourceProducer } from '../../src/index.ts'
import { RawSession } from '../helpers/mcp.ts'
import { listAll, useServer } from './support.ts'

describe('a custom producer', () => {
  let lists = 0
  const producer: ResourceProducer = {
    scheme: 'notes',
    list() {
      lists++
      return [
        { uri: 'notes://a', name: 'A' },
        { uri: 'notes://b', name: 'B', description: 'the second', mimeType: 'text/markdown' },
      ]
    },
    read(uri) {
      if (uri === 'notes://a') return [{ uri, text: 'plain' }]
      if (uri !== 'notes://b') throw new ResourceNotFound(uri)
      return [
        { uri, mimeType: 'text/markdown', text: '# b' },
        { uri, mimeType: 'application/octet-stream', blob: Uint8Array.of(255) },
      ]
    },
  }
  const section = useServer({}, server => server.resources().addProducer(producer))

  it('lists descriptors of its scheme with optional description and MIME type', async () => {
    const own = (await listAll(section.session)).filter(({ uri }) => uri.startsWith('notes:'))
    expect(own).to.deep.equal([
      { uri: 'notes://a', name: 'A' },
      { uri: 'notes://b', name: 'B', description: 'the second', mimeType: 'text/markdown' },
    ])
  })

  it('reads texts and blobs as padded base64, with a MIME type also when it names none', async () => {
    const read = async (uri: string) =>
      (await section.session.call('resources/read', { uri })).result.contents
    expect(await read('notes://a')).to.deep.equal([
      { uri: 'notes://a', mimeType: 'text/plain', text: 'plain' },
    ])
    expect(await read('notes://b')).to.deep.equal([
      { uri: 'notes://b', mimeType: 'text/markdown', text: '# b' },
      { uri: 'notes://b', mimeType: 'application/octet-stream', blob: '/w==' },
    ])
  })

  it('lists whenever a client reconnects', async () => {
    for (const expected of [lists + 1, lists + 2]) {
      await (await RawSession.open(section.url)).call('resources/list')
      expect(lists).to.equal(expected)
    }
  })
})
