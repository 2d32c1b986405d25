import { expect } from 'chai'
import { type Above, type Hidden, whatHides } from '../../../../src/server/capture/x11/windows.ts'
import { isThisMachine } from '../../../../src/server/capture/x11/properties.ts'

const screen = { width: 1000, height: 800 }
const window = { x: 100, y: 100, width: 300, height: 200 }
const at = (x: number, y: number, width: number, height: number, ours = false): Above => ({
  x,
  y,
  width,
  height,
  ours,
})

describe('whatHides', () => {
  const cases: [name: string, place: typeof window, above: Above[], expected: Hidden | null][] = [
    ['finds nothing with nothing above', window, [], null],
    ['finds one that covers all', window, [at(0, 0, 1000, 800)], 'covered'],
    ['finds one within it', window, [at(200, 150, 10, 10)], 'covered'],
    ['finds one over a corner by a pixel', window, [at(0, 0, 101, 101)], 'covered'],
    ['lets one touch its left edge', window, [at(0, 100, 100, 200)], null],
    ['lets one touch its right edge', window, [at(400, 100, 10, 200)], null],
    ['lets one touch its upper edge', window, [at(100, 0, 300, 100)], null],
    ['lets one touch its lower edge', window, [at(100, 300, 300, 10)], null],
    ['finds one over the lower right pixel', window, [at(399, 299, 5, 5)], 'covered'],
    ["lets the application's own menu cover it", window, [at(150, 150, 50, 80, true)], null],
    [
      'finds a foreign one beside its own',
      window,
      [at(150, 150, 50, 80, true), at(150, 150, 1, 1)],
      'covered',
    ],
    ['sees that it fills the screen', { x: 0, y: 0, ...screen }, [], null],
    ['sees that it begins left of the screen', { ...window, x: -1 }, [], 'off_screen'],
    ['sees that it begins above the screen', { ...window, y: -1 }, [], 'off_screen'],
    ['sees that it ends right of the screen', { ...window, x: 701 }, [], 'off_screen'],
    ['sees that it ends below the screen', { ...window, y: 601 }, [], 'off_screen'],
    [
      'names what is above before the edge',
      { ...window, y: 601 },
      [at(0, 0, 1000, 800)],
      'covered',
    ],
  ]
  for (const [name, place, above, expected] of cases) {
    it(name, () => expect(whatHides(place, screen, above)).to.equal(expected))
  }
})

describe('isThisMachine', () => {
  for (const [named, here, expected] of [
    ['studio7', 'studio7', true],
    ['STUDIO7', 'studio7', true],
    ['studio7.example.com', 'studio7', true],
    ['studio7', 'studio7.example.com', true],
    ['', 'studio7', true],
    ['studio8', 'studio7', false],
    ['studio7.example.com', 'studio7.example.org', false],
    ['studio77', 'studio7', false],
  ] as const) {
    it(`says ${expected} for ${JSON.stringify(named)} on ${here}`, () => {
      expect(isThisMachine(named, here)).to.equal(expected)
    })
  }
})
