import { Module } from '@nestjs/common';
import { TopicModule } from '../topic/topic.module.js';
import { GroupAccessCache } from './group.redis.js';
import { GroupService } from './group.service.js';

@Module({
  imports: [TopicModule],
  providers: [GroupAccessCache, GroupService],
  exports: [GroupService],
})
export class GroupModule {}
