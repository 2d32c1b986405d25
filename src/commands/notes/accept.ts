import { noteAction } from './note-action.ts'

/** Accepts the answer of a note. */
export default noteAction({
  action: 'accept',
  summary: 'Accept the answer of a note',
  description: 'Accepts the answer of a note and settles the note.',
  example: { description: 'note 3 is done', command: '<%= config.bin %> notes accept 3' },
  text: 'a comment',
})
