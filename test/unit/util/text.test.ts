import { expect } from 'chai'
import { cleanLines, cleanText, nearest } from '../../../src/lib/util/text.ts'

describe('cleanText', () => {
  const cases: [text: string, clean: string][] = [
    ['two\r\nlines', 'two lines'],
    ['\u001b[31mred\u001b[0m', 'red'],
    ['\u001b]0;title\u0007left', 'left'],
    ['\u001b]8;;http://x\u001b\\link', 'link'],
    ['\u001b\u001b[2J', ''],
    ['a\u0000b\u009bc', 'a b c'],
    ['left\u202eright', 'left right'],
    ['lone \ud800 half', 'lone \ufffd half'],
    ['shown\u{e0068}\u{e0069} as \ufeffsuch', 'shown as such'],
    ['👩\u200d🚀 模型', '👩\u200d🚀 模型'],
  ]
  for (const [text, clean] of cases) {
    it(`makes ${JSON.stringify(clean)} of ${JSON.stringify(text)}`, () => {
      expect(cleanText(text)).to.equal(clean)
    })
  }

  it('cuts what is too long', () => {
    expect(cleanText('x'.repeat(1000), 10)).to.equal(`${'x'.repeat(9)}…`)
    expect(cleanText('😀'.repeat(20), 10)).to.equal(`${'😀'.repeat(4)}…`)
  })
})

describe('cleanLines', () => {
  it('keeps lines, tabs and spaces, and nothing that moves the cursor', () => {
    const text = 'a  b\tc\r\nd\u001b[2J\u001b]0;title\u0007e\rf\u202eg\n'
    expect(cleanLines(text)).to.equal('a  b\tc\ndefg\n')
  })
})

describe('nearest', () => {
  const known = ['maxSessions', 'maxSubscriptions', 'pageSize']
  const cases: [word: string, expected: string | undefined][] = [
    ['maxSesions', 'maxSessions'],
    ['max-sessions', 'maxSessions'],
    ['pagesiez', 'pageSize'],
    ['colour', undefined],
    ['', undefined],
    ['maxSessions'.repeat(20), undefined],
  ]
  for (const [word, expected] of cases) {
    it(`finds ${expected} for "${word}"`, () => expect(nearest(word, known)).to.equal(expected))
  }
})
