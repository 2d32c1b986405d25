import { expect } from 'chai'
import { cleanText } from '../../../src/lib/util/text.ts'

describe('cleanText', () => {
  const cases: [text: string, clean: string][] = [
    ['name taken', 'name taken'],
    ['two\r\nlines', 'two lines'],
    ['\u001b[31mred\u001b[0m', 'red'],
    ['\u001b]0;title\u0007left', 'left'],
    ['\u001b]8;;http://x\u001b\\link', 'link'],
    ['\u001bcreset', 'reset'],
    ['a\u0000b\u009bc', 'a b c'],
    ['left\u202eright', 'left right'],
    ['lone \ud800 half', 'lone \ufffd half'],
    ['\u001b\u001b[2J', ''],
    ['shown\u{e0068}\u{e0069} as \ufeffsuch', 'shown as such'],
    ['\u061ca\u200bb\u2060c', 'a b c'],
    ['👩\u200d🚀', '👩\u200d🚀'],
    ['Ünï çødé 模型', 'Ünï çødé 模型'],
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
