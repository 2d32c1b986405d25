import { expect } from 'chai'
import { appendItem, setMember } from '../../../../src/lib/mcp/settings/json-edit.ts'

describe('setMember', () => {
  const cases: [what: string, before: string, after: string][] = [
    ['fills an empty object', '{}', '{\n  "s": {\n    "n": {\n      "u": 1\n    }\n  }\n}'],
    [
      'adds the section behind the last member',
      '{\n  "a": 1\n}\n',
      '{\n  "a": 1,\n  "s": {\n    "n": {\n      "u": 1\n    }\n  }\n}\n',
    ],
    [
      'adds to a section that is there',
      '{\n  "s": {\n    "m": {}\n  },\n  "z": 1\n}',
      '{\n  "s": {\n    "m": {},\n    "n": {\n      "u": 1\n    }\n  },\n  "z": 1\n}',
    ],
    ['stays on one line where all is', '{"s":{"m":{}}}', '{"s":{"m":{}, "n": {"u":1}}}'],
    [
      'fills an empty section',
      '{\n\t"s": {}\n}',
      '{\n\t"s": {\n\t\t"n": {\n\t\t\t"u": 1\n\t\t}\n\t}\n}',
    ],
    [
      'follows tabs and CRLF',
      '{\r\n\t"s": {\r\n\t\t"m": 1\r\n\t}\r\n}\r\n',
      '{\r\n\t"s": {\r\n\t\t"m": 1,\r\n\t\t"n": {\r\n\t\t\t"u": 1\r\n\t\t}\r\n\t}\r\n}\r\n',
    ],
    [
      'follows four spaces',
      '{\n    "s": {\n        "m": 1\n    }\n}',
      '{\n    "s": {\n        "m": 1,\n        "n": {\n            "u": 1\n        }\n    }\n}',
    ],
    [
      'leaves a comment on the line of the last member',
      '{\n  "s": {\n    "m": 1 // mine\n    // more\n  }\n}',
      '{\n  "s": {\n    "m": 1, // mine\n    "n": {\n      "u": 1\n    }\n    // more\n  }\n}',
    ],
    [
      'keeps the last comma last',
      '{\n  "s": {\n    "m": 1, // mine\n  },\n}',
      '{\n  "s": {\n    "m": 1, // mine\n    "n": {\n      "u": 1\n    },\n  },\n}',
    ],
    ['keeps the last comma last on one line', '{"s":{"m":1,},}', '{"s":{"m":1, "n": {"u":1},},}'],
    [
      'keeps comments of an empty object',
      '{\n  "s": {\n    // none yet\n  }\n}',
      '{\n  "s": {\n    // none yet\n    "n": {\n      "u": 1\n    }\n  }\n}',
    ],
    [
      'replaces what has the name',
      '{\n  "s": {\n    "n": {"old": [1,\n 2]}, // mine\n    "m": 1\n  }\n}',
      '{\n  "s": {\n    "n": {\n      "u": 1\n    }, // mine\n    "m": 1\n  }\n}',
    ],
    [
      'replaces the last of several with the name, which is the one that counts',
      '{"s":{"n":1,"n":2}}',
      '{"s":{"n":1,"n":{\n  "u": 1\n}}}',
    ],
  ]
  for (const [what, before, after] of cases) {
    it(what, () => {
      expect(setMember(before, ['s', 'n'], { u: 1 })).to.equal(after)
    })
  }

  it('gives up where something else than an object is in the way', () => {
    expect(setMember('{"s":[]}', ['s', 'n'], 1)).to.equal(null)
    expect(setMember('[]', ['s'], 1)).to.equal(null)
  })

  it('escapes names', () => {
    expect(setMember('{"a":1}', ['x"y'], 2)).to.equal('{"a":1, "x\\"y": 2}')
  })
})

describe('appendItem', () => {
  const append = (text: string) => appendItem(text, ['i'], { id: 'k' })

  it('adds behind the last item', () => {
    expect(append('{\n  "i": [\n    1\n  ]\n}')).to.equal(
      '{\n  "i": [\n    1,\n    {\n      "id": "k"\n    }\n  ]\n}',
    )
    expect(append('{"i":[1]}')).to.equal('{"i":[1, {"id":"k"}]}')
  })

  it('fills an empty array and makes a missing one', () => {
    expect(append('{\n  "i": []\n}')).to.equal('{\n  "i": [\n    {\n      "id": "k"\n    }\n  ]\n}')
    expect(append('{\n  "a": 1\n}')).to.equal(
      '{\n  "a": 1,\n  "i": [\n    {\n      "id": "k"\n    }\n  ]\n}',
    )
  })

  it('gives up where no array is', () => {
    expect(append('{"i":{}}')).to.equal(null)
  })
})
