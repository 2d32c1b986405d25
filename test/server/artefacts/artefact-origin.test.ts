import { expect } from 'chai'
import { ask } from '../../helpers/mcp.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'

const page = '<!doctype html><script>fetch("/mcp")</script>'
const drawing = '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'

describe('an artefact that is a page', () => {
  let serve: RunningServe

  before(async () => {
    serve = await serveInProcess()
  })

  after(() => serve.stop())

  for (const [mime, body] of [
    ['text/html', page],
    ['image/svg+xml', drawing],
    ['application/xhtml+xml', page],
    ['text/javascript', 'alert(1)'],
  ] as const) {
    it(`of type ${mime} runs nothing on the origin of the server`, async () => {
      const hex = await serve.store(body, '?display_name=page.html', mime)
      const url = `${serve.base}/artefacts/sha256/${hex}`
      const asked = {
        whole: [200, { method: 'GET' }],
        head: [200, { method: 'HEAD' }],
        part: [206, { headers: { Range: 'bytes=0-4' } }],
        known: [304, { headers: { 'If-None-Match': `"${hex}"` } }],
        past: [416, { headers: { Range: 'bytes=9999-' } }],
      } as const
      for (const [name, [status, options]] of Object.entries(asked)) {
        const answer = await ask(url, options)
        expect(answer.status, name).to.equal(status)
        expect(answer.headers, name).to.deep.include({
          'x-content-type-options': 'nosniff',
          'content-security-policy': "sandbox; default-src 'none'",
          'cross-origin-resource-policy': 'same-origin',
        })
        if (status === 200 || status === 206) {
          expect(answer.headers['content-disposition'], name).to.match(/^attachment; filename=/)
        }
        expect(answer.headers, name).not.to.have.property('access-control-allow-origin')
      }
    })
  }

  /** What people, or a model, may call a file. */
  const names: [string, string][] = [
    ['a quote', 'a"; filename="evil.exe'],
    ['a backslash', 'a\\"b'],
    ['a way up', '../../../etc/passwd'],
    ['a Windows way up', '..\\..\\boot.ini'],
    ['C1 control characters', 'a\x85\x9bb'],
    ['a hidden file', '.bashrc'],
    ['a Windows stream', 'a.txt:hidden'],
    ['percent and semicolon', '100%41;filename=x'],
    ['umlauts', 'Möbel für Ärzte.blend'],
    ['Japanese', 'シーン.blend'],
    ['an emoji', 'render 🎬.png'],
    ['right-to-left override', 'gpj.\u202etxt.exe'],
    ['an apostrophe', "it's.png"],
    ['only dots', '...'],
    ['255 characters', 'x'.repeat(255)],
  ]

  for (const [title, name] of names) {
    it(`whose name has ${title} stays one attachment header`, async () => {
      const query = `?display_name=${encodeURIComponent(name)}`
      const hex = await serve.store(`named ${title}`, query, 'text/html')
      const answer = await ask(`${serve.base}/artefacts/sha256/${hex}`)
      expect(answer.status).to.equal(200)
      expect(answer.text).to.equal(`named ${title}`)
      const disposition = String(answer.headers['content-disposition'])
      const form =
        /^attachment; filename="([^"\\/\r\n\x00-\x1f\x7f]+)"(; filename\*=UTF-8''([A-Za-z0-9%._-]+))?$/
      const [, plain = '', , encoded] = form.exec(disposition) ?? []
      expect(plain, disposition).to.match(/^[^./\\]/)
      for (const given of [plain, decodeURIComponent(encoded ?? plain)]) {
        expect(given).not.to.match(/[/\\:"\p{C}]/u)
        expect(given).not.to.match(/^\./)
      }
      if (title === 'Japanese') expect(decodeURIComponent(encoded ?? '')).to.equal(name)
    })
  }

  it('cannot have a name with control characters', async () => {
    const refused = ['a\r\nSet-Cookie: owned=1', 'a\nX-Injected: 1', 'a\0b', '\x1b[2J', 'a\x7f']
    for (const name of refused) {
      const query = `?display_name=${encodeURIComponent(name)}`
      const answer = await serve.post(`artefacts${query}`, 'x', { 'Content-Type': 'text/html' })
      expect(answer.status, JSON.stringify(name)).to.equal(400)
      expect(answer.json.code).to.equal('body-invalid')
    }
  })

  it('whose type would smuggle a header is refused', async () => {
    for (const mime of ['text', 'text/html,text/plain', 'text/ht ml', 'text/html; a="\\"']) {
      const answer = await serve.post('artefacts', 'x', { 'Content-Type': mime })
      expect(answer.status, mime).to.equal(415)
    }
  })
})
