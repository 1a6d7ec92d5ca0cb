import { Module } from '@nestjs/common';
import { TopicModule } from '../topic/topic.module.js';
import { UserModule } from '../user/user.module.js';
import { RelationChanges } from './relation-changes.js';
import { RelationLists } from './relation-lists.js';
import { RelationController } from './relation.controller.js';
import { RelationCaches } from './relation.redis.js';
import { RelationService } from './relation.service.js';

@Module({
  imports: [TopicModule, UserModule],
  controllers: [RelationController],
  providers: [RelationCaches, RelationService, RelationChanges, RelationLists],
  exports: [RelationService],
})
export class RelationModule {}
