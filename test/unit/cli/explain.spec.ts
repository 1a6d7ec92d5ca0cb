import { explain } from '../../../src/cli/run-cli.js';
import { AppError, invalid } from '../../../src/platform/errors/app-error.js';

it('a mistake at the command line is told with all that is wrong, in one line', () => {
  const details = [
    { field: 'settings.recallWindowSeconds', problem: 'must be at least 0' },
    { field: 'settings.registration', problem: 'must be one of open, closed' },
  ];
  expect(explain(new AppError('VALIDATION_FAILED', { details }))).toBe(
    'settings.recallWindowSeconds must be at least 0; settings.registration must be one of open, closed',
  );
  expect(explain(invalid('code', 'is taken'))).toBe('code is taken');
  expect(explain(new AppError('NOT_FOUND', { message: 'No such tenant.' }))).toBe('No such tenant.');
});
