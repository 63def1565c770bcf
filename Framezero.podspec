# The client of framezero, for apps: docs/client.md.
Pod::Spec.new do |s|
  s.name = 'Framezero'
  s.version = '0.1.0'
  s.summary = 'Captures crashes: registers, stacks and memory, for the values of variables'
  s.homepage = 'https://framezero.example'
  s.license = { :type => 'Custom', :text => 'As the repository that contains this file.' }
  s.author = 'framezero'
  s.source = { :git => 'https://framezero.example/framezero.git', :tag => s.version.to_s }
  s.ios.deployment_target = '12.0'
  s.osx.deployment_target = '10.14'
  s.tvos.deployment_target = '12.0'
  s.source_files = 'client/src/*.{h,c,cpp}', 'client/include/*.h'
  s.public_header_files = 'client/include/framezero.h'
  s.module_map = 'client/include/module.modulemap'
  # Sources include each other by paths from their folder.
  s.header_mappings_dir = 'client'
  s.libraries = 'c++'
end
