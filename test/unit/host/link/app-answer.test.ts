import { expect } from 'chai'
import { readOutcome } from '../../../../src/server/host/link/app-answer.ts'

const limits = { maxFieldChars: 255 }
const uri = 'app://Cube?detail=2'
const text = { uri, mimeType: 'application/json', text: '{}' }

describe('readOutcome', () => {
  const good: [what: string, contents: unknown, expected: unknown][] = [
    ['a text', [text], [text]],
    ['bytes in base64', [{ uri, blob: 'AAEC' }], [{ uri, blob: 'AAEC' }]],
    ['no bytes', [{ uri, blob: '' }], [{ uri, blob: '' }]],
    ['several', [text, { uri, text: '' }], [text, { uri, text: '' }]],
    ['nothing', [], []],
    [
      'null for what is absent',
      [{ uri, mimeType: null, text: 'a', blob: null }],
      [{ uri, text: 'a' }],
    ],
    ['members it does not know, without them', [{ ...text, extra: 1 }], [text]],
  ]
  for (const [what, contents, expected] of good) {
    it(`takes ${what}`, () => {
      const outcome = readOutcome(uri, { type: 'ok', id: 's1', contents }, limits)
      expect(outcome).to.deep.equal({ ok: true, value: expected })
    })
  }

  it('freezes what it takes, so that readers can share it', () => {
    const outcome = readOutcome(uri, { type: 'ok', id: 's1', contents: [text] }, limits)
    const contents = outcome.ok ? outcome.value : []
    expect(Object.isFrozen(contents) && contents.every(Object.isFrozen)).to.equal(true)
  })

  const wrong: [what: string, contents: unknown][] = [
    ['no contents', undefined],
    ['an object', text],
    ['an entry that is no object', [text, 'x']],
    ['an entry that is null', [null]],
    ['no uri', [{ text: '' }]],
    ['a uri that is no string', [{ uri: 5, text: '' }]],
    ['a MIME type that is no string', [{ uri, mimeType: 5, text: '' }]],
    ['neither text nor blob', [{ uri }]],
    ['both', [{ uri, text: '', blob: '' }]],
    ['a text that is no string', [{ uri, text: {} }]],
    ['a blob without padding', [{ uri, blob: 'AAE' }]],
    ['a blob of another alphabet', [{ uri, blob: 'AA-_' }]],
    ['a blob that is an object', [{ uri, blob: { size: 4, open: 'x' } }]],
  ]
  for (const [what, contents] of wrong) {
    it(`is host_failed for ${what}, with a word for the log`, () => {
      const outcome = readOutcome(uri, { type: 'ok', id: 's1', contents }, limits)
      if (outcome.ok) throw new Error('it was taken')
      expect(outcome.failure.error).to.deep.include({
        code: 'resource_failed',
        data: { reason: 'host_failed' },
      })
      expect(outcome.failure.trouble).to.match(/wrong form/)
    })
  }

  const errors: [
    error: { code: string; message: string },
    code: string,
    data: object | undefined,
    isTrouble: boolean,
  ][] = [
    [
      { code: 'not_found', message: 'gone' },
      'resource_not_found',
      { uri, application_message: 'gone' },
      false,
    ],
    [{ code: 'not_found', message: '' }, 'resource_not_found', { uri }, false],
    [
      { code: 'invalid', message: 'no such frame' },
      'resource_uri_invalid',
      { application_message: 'no such frame' },
      false,
    ],
    [
      { code: 'busy', message: 'a dialog' },
      'resource_failed',
      { reason: 'host_busy', application_message: 'a dialog' },
      false,
    ],
    [{ code: 'internal', message: 'x' }, 'resource_failed', { reason: 'host_failed' }, true],
    [
      { code: 'unsupported', message: 'x' },
      'resource_failed',
      { reason: 'host_failed', application_message: 'x' },
      false,
    ],
    [{ code: 'of tomorrow', message: 'x' }, 'resource_failed', { reason: 'host_failed' }, true],
  ]
  for (const [said, code, data, isTrouble] of errors) {
    it(`makes ${code} ${JSON.stringify(data ?? {})} of ${said.code}`, () => {
      const outcome = readOutcome(uri, { type: 'error', id: 's1', ...said }, limits)
      if (outcome.ok) throw new Error('it was taken')
      const { error, trouble } = outcome.failure
      expect(error).to.deep.include({ code, data })
      expect(trouble !== null).to.equal(isTrouble)
    })
  }

  const said = '; the application says: '
  const messages: [code: string, message: string, told: string][] = [
    ['invalid', '', 'the application refuses the URI'],
    ['invalid', 'no such frame', `the application refuses the URI${said}"no such frame"`],
    ['not_found', 'no saw', `no resource at ${uri}${said}"no saw"`],
    ['busy', 'a dialog is open', `the application is busy${said}"a dialog is open"`],
    ['busy', 'one "\n" two', `the application is busy${said}"one \\"\\n\\" two"`],
    ['busy', 'x'.repeat(300), `the application is busy${said}"${'x'.repeat(255)}"`],
    ['busy', `${'x'.repeat(254)}😀`, `the application is busy${said}"${'x'.repeat(254)}\ufffd"`],
  ]
  for (const [code, message, told] of messages) {
    it(`quotes ${JSON.stringify(message).slice(0, 20)} of "${code}" as the application's`, () => {
      const outcome = readOutcome(uri, { type: 'error', id: 's1', code, message }, limits)
      expect(!outcome.ok && outcome.failure.error.message).to.equal(told)
    })
  }

  it('tells the log what the application says, and the reader not', () => {
    const message = '/home/artist/secret.ma'
    const reply = { type: 'error', id: 's1', code: 'internal', message } as const
    const outcome = readOutcome(uri, reply, limits)
    if (outcome.ok) throw new Error('it was taken')
    expect(outcome.failure.trouble).to.equal('internal: /home/artist/secret.ma')
    const { error } = outcome.failure
    expect(JSON.stringify([error.message, error.hint, error.data])).not.to.include('secret')
  })
})
