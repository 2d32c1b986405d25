import { noteAction } from './note-action.ts'

export default noteAction({
  action: 'accept',
  summary: 'Accept the answer of a note',
  description: 'Accepts the answer of a note and settles the note.',
  example: '<%= config.bin %> notes accept 3',
  text: 'a comment',
})
