import { expect } from 'chai'
import { fail } from '../../src/lib/util/result.ts'
import { MemoryBackend, noDisplay } from '../helpers/pictures.ts'
import { callStateless } from '../helpers/stateless.ts'
import { until } from '../helpers/until.ts'
import {
  contentOf,
  failure,
  listAll,
  listedUris,
  listen,
  readFailure,
  scene,
  templatesOf,
  useServer,
} from './support.ts'

const uri = 'capture://current_window'
const template = 'capture://current_window{?max_width}'

/** Width and height as the file says. */
function sizeOf(blob: string): [number, number] {
  const png = Buffer.from(blob, 'base64')
  expect(png.toString('base64'), 'padded base64').to.equal(blob)
  expect(png.toString('hex', 0, 8)).to.equal('89504e470d0a1a0a')
  return [png.readUInt32BE(16), png.readUInt32BE(20)]
}

describe('capture://current_window with a backend', () => {
  const backend = new MemoryBackend()
  const section = useServer({}, () => {}, { capture: backend })
  before(() => until(() => backend.probed.length > 0, 'the probe'))
  afterEach(() => (backend.failure = null))

  it('is listed as image/png, with its template, and read as a PNG in a base64 blob', async () => {
    const { session } = section
    const listed = (await listAll(session)).find(each => each.uri === uri)
    expect(listed).to.include({ mimeType: 'image/png' })
    expect(await templatesOf(session)).to.include(template)
    const content = await contentOf(session, uri)
    expect(content).to.have.all.keys('uri', 'mimeType', 'blob')
    expect(content).to.include({ uri, mimeType: 'image/png' })
    expect(sizeOf(content.blob)).to.deep.equal([40, 20])
  })

  it('scales down to max_width, never up, ignores other parameters and echoes the URI', async () => {
    for (const [query, size] of [
      ['max_width=10', [10, 5]],
      ['max_width=8192', [40, 20]],
      ['other=1', [40, 20]],
    ] as const) {
      const content = await contentOf(section.session, `${uri}?${query}`)
      expect(content.uri).to.equal(`${uri}?${query}`)
      expect(sizeOf(content.blob), query).to.deep.equal(size)
    }
  })

  it('refuses any other max_width, and one that is given twice, with −32602', async () => {
    const values = ['0', '8193', '-1', '1.5', '', 'wide', '99999999999999999999', '10&max_width=20']
    for (const value of values) {
      const { code } = await readFailure(section.session, `${uri}?max_width=${value}`)
      expect(code, value).to.equal(-32602)
    }
  })

  it('is −32603 with a reason and a hint when the backend fails', async () => {
    const reasons = ['minimised', 'no_window', 'permission', 'timeout', 'blank'] as const
    for (const [at, reason] of reasons.entries()) {
      backend.failure = reason
      // Each of another width: a picture just taken is kept for a moment.
      const params = { uri: `${uri}?max_width=${at + 20}` }
      const error = await failure(section.session, 'resources/read', params)
      expect(error.code, reason).to.equal(-32603)
      expect(error.data).to.include({ reason })
      expect(error.data?.hint).to.be.a('string').and.not.equal('')
    }
  })

  it('sends no updates', async () => {
    const events = await listen(section.session, uri, scene)
    await contentOf(section.session, uri)
    section.server.resources().setScene({})
    await events.until(() => events.updates.length > 0)
    expect(events.updates).to.deep.equal([scene])
  })

  it('is the only URI of its scheme', async () => {
    for (const other of ['capture://desktop', 'capture://current_window/1', 'capture:x']) {
      const error = await readFailure(section.session, other)
      expect(error, other).to.deep.include({ code: -32002, data: { uri: other } })
    }
  })
})

describe('capture://current_window without a window to capture', () => {
  const backend = new MemoryBackend()
  backend.state = fail(noDisplay)
  const section = useServer({}, () => {}, { capture: backend })
  before(() => until(() => backend.probed.length > 0, 'the probe'))

  it('is not listed, and −32002 with a hint (−32602 at 2026-07-28)', async () => {
    const { session, url } = section
    expect(await listedUris(session)).not.to.include(uri)
    expect(await templatesOf(session)).not.to.include(template)
    const error = await readFailure(session, uri)
    const hint = 'there is no display; start it in a desktop session'
    expect(error).to.deep.include({ code: -32002, data: { uri, hint } })
    const { json } = await callStateless(url, 'resources/read', { uri })
    expect(json.error).to.deep.include({ code: -32602 })
    expect(json.error.data).to.include({ uri })
    expect(backend.takings).to.deep.equal([])
  })
})
