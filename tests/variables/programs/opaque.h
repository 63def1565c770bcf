__attribute__((objc_root_class))
@interface NSObject {
    Class isa;
}
+ (id)alloc;
- (id)init;
@end
@interface Known : NSObject {
  @public
    int shown;
}
- (void)fill:(long)value;
@end
